"use strict";
// Searches, filters and sorts the list of sentences; without it the list is whole, in the order of the text.
(() => {
  const tools = document.querySelector(".tools"), list = document.querySelector(".list");
  if (!tools || !list) return;
  const [search, show, sort, found] = ["input", ".show", ".sort", "output"].map(one => tools.querySelector(one));
  const all = [...list.children].map(card => ({card, data: card.dataset, text: card.textContent.toLowerCase()}));
  const is_shown = (one, word, kind) => {
    if (!one.text.includes(word)) return false;
    if (kind === "below 50") return Number(one.data.score) < 50;
    if (kind === "from 50") return Number(one.data.score) >= 50;
    return !kind || one.data.signs.split(" ").includes(kind);
  };
  const update = () => {
    const [key, sign] = sort.value.split(" "), word = search.value.trim().toLowerCase();
    let number = 0;
    for (const one of all) {
      one.card.hidden = !is_shown(one, word, show.value);
      number += !one.card.hidden;
    }
    const order = (a, b) => sign * (a.data[key] - b.data[key]) || a.data.line - b.data.line;
    list.append(...[...all].sort(order).map(one => one.card));
    found.textContent = `${number} of ${all.length}`;
  };
  for (const one of [search, show, sort]) one.addEventListener("input", update);
  tools.hidden = false;
  update();
})();
