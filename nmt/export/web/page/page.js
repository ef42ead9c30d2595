// The page: translates the text line by line, a moment after the last key, or at once on request.

import { Model } from './search.js';

const WAIT = 350; // milliseconds after the last key before translation begins
const MOST_KEPT = 500; // lines whose translations are remembered

const find = (id) => document.getElementById(id);
const [source, target, state] = [find('source'), find('target'), find('state')];

let model = null;
let current = 0; // the number of the newest request; older ones end early
let timer = 0;
const known = new Map(); // translations of lines, by their tag and text

function nameOf(language) {
  if (!language) return null;
  try {
    return new Intl.DisplayNames(['en'], { type: 'language' }).of(language);
  } catch {
    return language; // not the code of a language
  }
}

function codeOf(tag) {
  return tag.replace(/^(<2|>>)|(>|<<)$/g, ''); // <2en> or >>eng<<
}

function introduce(facts) {
  const [from, into] = [nameOf(facts.source_language), nameOf(facts.target_language)];
  if (from && into) {
    find('title').textContent = document.title = `${from} to ${into}`;
    find('source-name').textContent = from;
    find('target-name').textContent = into;
  }
  [source.lang, target.lang] = [facts.source_language ?? '', facts.target_language ?? ''];
  source.dir = target.dir = 'auto';
  for (const tag of facts.tags) find('language').add(new Option(nameOf(codeOf(tag)) ?? tag, tag));
  find('languages').hidden = !facts.tags.length;
  const megabytes = Object.values(facts.files).reduce((sum, size) => sum + size, 0) / 1e6;
  find('model').textContent = `Model ${facts.name}, ${facts.quantization}, ${megabytes.toFixed(0)} MB with its runtime`;
}

async function translate() {
  clearTimeout(timer);
  const number = ++current;
  if (!model) return;
  const lines = source.value.split(/\r?\n/), tag = find('language').value;
  if (tag) target.lang = codeOf(tag);
  const found = [];
  let numCut = 0;
  target.classList.add('waiting');
  find('mistake').hidden = true;
  if (source.value.trim()) state.textContent = 'Translating …';
  try {
    for (const line of lines) {
      const key = `${tag} ${line}`;
      const result = known.get(key) ?? (await model.translate(line, () => number !== current, tag));
      if (result === null || number !== current) return;
      known.delete(key); // the lines that were used last come last
      known.set(key, result);
      if (known.size > Math.max(MOST_KEPT, lines.length)) known.delete(known.keys().next().value);
      numCut += result.isCut;
      found.push(result.text);
      target.textContent = found.join('\n');
    }
    state.textContent = numCut ? `Cut, since too long for the model: ${numCut} ${numCut === 1 ? 'line' : 'lines'}` : '';
  } catch (error) {
    complain(error);
    state.textContent = '';
  }
  target.classList.remove('waiting');
  find('copy').disabled = !target.textContent.trim();
}

function complain(error) {
  find('mistake').textContent = `Something went wrong: ${error.message ?? error}`;
  find('mistake').hidden = false;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(target.textContent);
    state.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(target); // the browser refuses to copy, but the user can
    state.textContent = 'Selected: copy it by your browser';
  }
}

source.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(translate, WAIT);
});
source.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    translate();
  }
});
find('translate').addEventListener('click', translate);
find('language').addEventListener('change', translate);
find('copy').addEventListener('click', copy);
find('clear').addEventListener('click', () => {
  source.value = '';
  source.focus();
  translate();
});

try {
  model = await Model.load((share) => {
    find('progress').value = share;
    find('loading-text').textContent = `Loading the model: ${Math.round(100 * share)} %`;
  }, introduce);
  find('loading').hidden = true;
  find('hint').hidden = false;
  find('translate').disabled = false;
  await translate(); // what was written while the model loaded
} catch (error) {
  find('loading').hidden = true;
  complain(error);
}
