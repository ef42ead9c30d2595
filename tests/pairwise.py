"""Combinations of options in which every pair of values meets."""

import itertools


def pairs_of(options):
    """Return all pairs of (option, value), each as a set."""
    return {frozenset(pair) for pair in itertools.combinations(options.items(), 2)}


def pairwise(table, refused=()):
    """Return combinations, few and found greedily, in which every pair of values occurs that is not refused."""
    choices = [{a: x, b: y} for a, b in itertools.combinations(table, 2) for x in table[a] for y in table[b]]
    missing = {pair for options in choices for pair in pairs_of(options)} - set(refused)
    combinations = []
    for first in choices:
        if not pairs_of(first) <= missing:
            continue
        options = dict(first)
        for name in table:
            if name not in options:
                ways = [{**options, name: value} for value in table[name]]
                allowed = [way for way in ways if not pairs_of(way) & set(refused)]
                options = max(allowed, key=lambda way: len(pairs_of(way) & missing))
        missing -= pairs_of(options)
        combinations.append({name: options[name] for name in table})
    assert not missing
    return combinations
