// A translation model in the browser: its files, and a beam search over its graphs. onnx/run.py of nmt is this search
// in Python.

import * as ort from './runtime/ort.wasm.bundle.min.mjs';
import { Vocabulary } from './segmentation.js';

const RUNTIME = 'runtime/ort-wasm-simd-threaded.wasm';
const PAUSE_AFTER = 24; // milliseconds of work after which the page may draw itself
// The end of text in a script that puts no space between sentences: Thai to Burmese, Khmer, Chinese and Japanese.
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uff00-\uffef]$/;

// Emoji, their joiners and space: nothing to translate. Braille, sign writing, letters in circles and squares of words
// are symbols, too, but text.
const WORDLESS =
  /^(?:(?![\u2800-\u28ff\u249c-\u24e9\u3200-\u33ff\u{1d800}-\u{1daaf}])[\p{So}\p{Sk}\p{Mn}\p{Me}\p{Cf}\p{Cc}\p{Z}])*$/u;
const VISIBLE = /[\p{So}\p{Sk}\p{Mn}\p{Me}]/u;

const integers = (numbers, shape) => new ort.Tensor('int64', BigInt64Array.from(numbers, BigInt), shape);

/** Give the browser time for its other work. */
const pause = () => new Promise((resume) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = resume;
  channel.port2.postMessage(null);
});

/** Fetch a file beside this script and tell how many of its bytes have come. */
async function fetchBytes(name, tell) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}`);
  const reader = answer.body.getReader(), parts = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    tell(part.value.length);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export class Model {
  /** Load all files; `tell` gets the share of bytes that has come, from 0 to 1, `introduce` the model's facts. */
  static async load(tell = () => {}, introduce = () => {}) {
    const answer = await fetch(new URL('translation.json', import.meta.url));
    if (!answer.ok) throw new Error(`translation.json: ${answer.status} ${answer.statusText}`);
    const facts = await answer.json();
    introduce(facts);
    const total = Object.values(facts.files).reduce((sum, size) => sum + size, 0);
    let come = 0;
    const names = Object.keys(facts.files);
    const contents = await Promise.all(names.map((name) => fetchBytes(name, (size) => tell((come += size) / total))));
    const files = Object.fromEntries(names.map((name, i) => [name, contents[i]]));
    ort.env.wasm.numThreads = 1; // more threads would need headers that a plain server does not send
    ort.env.wasm.wasmBinary = files[RUNTIME];
    const model = new Model();
    model.facts = facts;
    model.source = new Vocabulary(JSON.parse(new TextDecoder().decode(files[facts.source_vocabulary])));
    model.target = facts.target_vocabulary === facts.source_vocabulary
      ? model.source
      : new Vocabulary(JSON.parse(new TextDecoder().decode(files[facts.target_vocabulary])));
    model.encoder = await ort.InferenceSession.create(files[facts.encoder]);
    model.decoder = await ort.InferenceSession.create(files[facts.decoder]);
    model.cacheNames = model.decoder.inputNames.filter((name) => name.startsWith('past_key_values'));
    return model;
  }

  /**
   * Translate a line; tell whether it was cut. Now and then `isOutdated` is asked: true ends the work with null.
   * A model of many languages needs the `tag` of one. A line of emoji alone stays as it is.
   */
  async translate(line, isOutdated = () => false, tag = '') {
    if (WORDLESS.test(line)) return { text: VISIBLE.test(line) ? line.trim() : '', isCut: false };
    const found = [];
    let isCut = false;
    for (const part of this.parts(line, tag)) {
      const ids = this.source.encode(part);
      if (!ids.length) continue;
      isCut ||= ids.length > this.facts.max_source_tokens;
      const tokens = await this.search(ids.slice(0, this.facts.max_source_tokens), isOutdated);
      if (tokens === null) return null;
      found.push(this.target.decode(tokens));
    }
    const joined = (before, next) => before + (before && next && !UNSPACED.test(before) ? ' ' : '') + next;
    return { text: found.reduce(joined, ''), isCut };
  }

  /** Return the sentences of a line that is longer than those of training (`long_line`), else the line; with tags. */
  parts(line, tag) {
    if (!line.trim() || !this.source.encode(line).length) return []; // blank, or so once it is normalised
    const tagged = (text) => (tag && text.trim() ? `${tag} ${text}` : text);
    if (this.source.encode(tagged(line)).length <= this.facts.long_line || !Intl.Segmenter) return [tagged(line)];
    const segmenter = new Intl.Segmenter(this.facts.source_language ?? undefined, { granularity: 'sentence' });
    const parts = [];
    for (const { segment } of segmenter.segment(line)) {
      if (parts.length && (WORDLESS.test(segment) || WORDLESS.test(parts.at(-1)))) parts[parts.length - 1] += segment;
      else parts.push(segment);
    }
    return parts.map((part) => tagged(part.trim()));
  }

  /** Return the target token ids for source token ids without EOS, or null if the work is outdated. */
  async search(source, isOutdated = () => false) {
    const { beam, max_target_tokens, max_length_ratio, max_length_extra } = this.facts;
    const length = Math.trunc(max_length_ratio * source.length) + max_length_extra;
    const limit = Math.max(1, Math.min(max_target_tokens, length));
    const { beam_size: size, early_stopping: isEarly } = beam;
    const eos = this.target.eos_id;
    const penalty = (steps) =>
      (beam.length_penalty_kind === 'power' ? steps : (5 + steps) / 6) ** beam.length_penalty;
    let state = await this.start(source, size);
    let scores = [0, ...Array(size - 1).fill(-Infinity)];
    let tokens = Array(size).fill(this.target.bos_id);
    let histories = scores.map(() => []);
    let best = [], bestScore = -Infinity, numFinished = 0, since = performance.now();
    for (let position = 0; position <= limit; position++) {
      const logits = await this.step(tokens, state);
      const found = candidates(scores, logits, 2 * size, position === limit ? eos : null);
      for (const one of found.slice(0, size)) {
        if (one.word !== eos || one.sum === -Infinity) continue;
        numFinished++;
        const score = one.sum / penalty(position + 1);
        if (score > bestScore) [best, bestScore] = [histories[one.parent], score];
      }
      const kept = found.filter((one) => one.word !== eos).slice(0, size);
      const hope = (kept[0]?.sum ?? -Infinity) / penalty(isEarly ? position + 1 : limit + 1);
      if (hope <= bestScore && (!isEarly || numFinished >= size)) break;
      scores = kept.map((one) => one.sum);
      tokens = kept.map((one) => one.word);
      histories = kept.map((one) => [...histories[one.parent], one.word]);
      reorder(state, kept.map((one) => one.parent));
      if (performance.now() - since > PAUSE_AFTER) {
        await pause();
        if (isOutdated()) return null;
        since = performance.now();
      }
    }
    return best;
  }

  /** Return the decoder's inputs for a source, repeated for `size` hypotheses, with an empty cache. */
  async start(source, size) {
    const ids = [...source, this.source.eos_id];
    const shape = [1, ids.length];
    const { last_hidden_state: encoded } = await this.encoder.run({
      input_ids: integers(ids, shape),
      attention_mask: integers(ids.map(() => 1), shape),
    });
    const repeated = new Float32Array(size * encoded.data.length);
    for (let row = 0; row < size; row++) repeated.set(encoded.data, row * encoded.data.length);
    const state = {
      encoder_hidden_states: new ort.Tensor('float32', repeated, [size, ...encoded.dims.slice(1)]),
      encoder_attention_mask: integers(Array(size * ids.length).fill(1), [size, ids.length]),
    };
    for (const name of this.cacheNames)
      state[name] = new ort.Tensor('float32', new Float32Array(0), [size, this.facts.cache[0], 0, this.facts.cache[1]]);
    return state;
  }

  /** Return the logits of what follows the token of each hypothesis, and extend the cache in `state`. */
  async step(tokens, state) {
    // The keys and values of the source are complete after the first call.
    const isFirst = state[this.cacheNames[0]].dims[2] === 0;
    const changing = this.cacheNames.filter((name) => isFirst || name.includes('.decoder.'));
    const presentOf = (name) => name.replace('past_key_values', 'present');
    const found = await this.decoder.run(
      { input_ids: integers(tokens, [tokens.length, 1]), ...state },
      ['logits', ...changing.map(presentOf)],
    );
    for (const name of changing) state[name] = found[presentOf(name)];
    const { data, dims } = found.logits;
    return tokens.map((_, row) => data.subarray(row * dims[2], (row + 1) * dims[2]));
  }
}

/** Return the `number` best continuations of all hypotheses, best first; `only`: the sole token, of probability 1. */
function candidates(scores, logits, number, only) {
  const found = [];
  scores.forEach((score, parent) => {
    const row = logits[parent];
    let largest = -Infinity, total = 0;
    for (const value of row) if (value > largest) largest = value;
    for (const value of row) total += Math.exp(value - largest);
    const normaliser = Math.log(total);
    for (let word = 0; word < row.length; word++) {
      const logProbability = only === null ? row[word] - largest - normaliser : word === only ? 0 : -Infinity;
      const sum = score + logProbability;
      if (found.length === number && !(sum > found.at(-1).sum)) continue;
      let place = found.length;
      while (place > 0 && sum > found[place - 1].sum) place--;
      found.splice(place, 0, { sum, parent, word });
      if (found.length > number) found.pop();
    }
  });
  return found;
}

/** Reorder the cache, so that the row of each hypothesis is that of its parent. */
function reorder(state, parents) {
  if (parents.every((parent, row) => parent === row)) return;
  for (const [name, tensor] of Object.entries(state)) {
    if (!name.includes('.decoder.')) continue;
    const size = tensor.data.length / parents.length;
    const data = new Float32Array(tensor.data.length);
    parents.forEach((parent, row) => data.set(tensor.data.subarray(parent * size, (parent + 1) * size), row * size));
    state[name] = new ort.Tensor('float32', data, tensor.dims);
  }
}
