// The page: translates the text a moment after the last key, or at once on request.

import { Failure, ask } from './server.js';
import { Improvement } from './improvement.js';
import { Languages } from './languages.js';
import { Words } from './words.js';
import { offerFiles } from './files.js';

const find = (id) => document.getElementById(id);
const [source, target, mirror, state] = ['source', 'target', 'mirror', 'state'].map(find);
const NUM_OTHERS = 2; // alternatives to the best translation
const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.platform);

let settings = null; // of the server
let isBeginning = false;
let languages = null;
let request = null; // the newest; older ones are aborted
let timer = 0;
let asked = {}; // text and languages of what is shown
let choices = []; // translations of this text, the best one first
let details = null; // of the words of the best one, from the server

const words = new Words(source, mirror, target, (text) => { find('word').textContent = text; });
const improvement = new Improvement(fields, (text) => { state.textContent = text; }, (error) => fail(error, false));

/** Return what every request says of the languages and, if there is one, of the key. */
function fields() {
  const key = find('key').value.trim();
  return { source: languages.source, target: languages.target, ...(key && { api_key: key }) };
}

/** Show what went wrong; `again`: offer to translate once more. */
function fail(error, again = true) {
  if (!(error instanceof Failure)) console.error(error);
  find('mistake-text').textContent = error instanceof Failure ? error.message : 'The page failed.';
  find('again').hidden = !again;
  find('mistake').hidden = false;
  state.textContent = '';
}

/** Stop the timer and abort the request: what they would bring is not wanted any more. */
function giveUp() {
  clearTimeout(timer);
  request?.abort();
  request = null;
}

function translate() {
  giveUp();
  find('mistake').hidden = true;
  if (!settings) begin();
  else if (!source.value.trim()) forget();
  else if (!isTooLong(source.value)) send(source.value); // else the translation of the earlier text stays, faintly
}

async function send(text) {
  const mine = new AbortController();
  request = mine;
  target.classList.add('waiting');
  state.textContent = 'Translating …';
  const alternatives = Math.min(NUM_OTHERS, settings.maxAlternatives);
  try {
    const answer = await ask('translate', { q: text, ...fields(), alternatives, details: true }, mine.signal);
    if (request === mine) show(text, answer);
  } catch (error) {
    if (request === mine) fail(error);
  }
}

function show(text, answer) {
  asked = { q: text, source: languages.source, target: languages.target };
  languages.found(answer.detectedLanguage ?? null);
  source.lang = mirror.lang = languages.spoken ?? '';
  target.lang = languages.target;
  choices = [answer.translatedText, ...(answer.alternatives ?? [])];
  details = answer.details;
  state.textContent = '';
  target.classList.remove('waiting');
  choose(0);
}

/** Show one of the translations, and the others below it. Only the best one has details of its words. */
function choose(number) {
  const isBest = number === 0;
  const plain = { source: [], target: [], alignment: [], confidences: [] };
  const isSure = words.show(asked.q, choices[number], isBest && details ? details : plain);
  find('legend').hidden = !isSure;
  find('other-list').replaceChildren(...choices.flatMap((other, i) => {
    if (i === number) return [];
    const [item, button] = ['li', 'button'].map((name) => document.createElement(name));
    Object.assign(button, { type: 'button', textContent: other, dir: 'auto', lang: target.lang, title: 'Take this one' });
    button.addEventListener('click', () => {
      if (source.value !== asked.q) return; // the text has changed, so others come in a moment
      choose(i);
      target.focus();
    });
    item.append(button);
    return [item];
  }));
  find('others').hidden = choices.length < 2;
  find('copy').disabled = false;
  improvement.show(asked, choices[number]);
}

function forget() {
  asked = {};
  choices = [];
  words.clear();
  target.classList.remove('waiting');
  target.replaceChildren();
  languages?.found(null);
  for (const id of ['others', 'legend']) find(id).hidden = true;
  find('copy').disabled = true;
  improvement.show(asked, '');
  state.textContent = '';
}

/** Say how long the text is, where there is a limit; return whether it is too long. */
function isTooLong(text) {
  const limit = settings?.charLimit ?? -1;
  const number = [...text].length;
  const count = find('count');
  const isLong = limit > 0 && number > limit;
  const said = `${number.toLocaleString('en')} of ${limit.toLocaleString('en')}${isLong ? ': too long' : ''}`;
  count.textContent = limit > 0 ? said : '';
  count.classList.toggle('wrong', isLong);
  if (isLong) state.textContent = `This server takes ${limit.toLocaleString('en')} characters at a time.`;
  return isLong;
}

/** Copy the text into the mirror, which gives the field its height, and translate it soon. */
function changed() {
  giveUp();
  words.unmark();
  words.clear();
  mirror.textContent = `${source.value}\n`;
  find('clear').hidden = !source.value;
  state.textContent = '';
  isTooLong(source.value);
  if (source.value.trim()) target.classList.add('waiting');
  else forget();
  timer = setTimeout(translate, settings?.frontendTimeout ?? 500);
}

function swap() {
  const text = source.value === asked.q ? target.textContent : source.value; // else the translation is of another text
  languages.swap();
  source.value = text;
  changed();
  translate();
}

async function copy() {
  const range = document.createRange();
  range.selectNodeContents(target);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  try { // a browser has navigator.clipboard on secure connections alone
    if (navigator.clipboard) await navigator.clipboard.writeText(target.textContent);
    else document.execCommand('copy');
    state.textContent = 'Copied.';
  } catch {
    state.textContent = 'The browser does not allow it: the translation is selected, to be copied by hand.';
  }
}

function isPressed(event, key, withShift) {
  return (IS_APPLE ? event.metaKey : event.ctrlKey) && event.shiftKey === withShift && event.key.toLowerCase() === key;
}

function keepKey() {
  try {
    if (find('keep').checked) localStorage.setItem('key', find('key').value);
    else localStorage.removeItem('key');
  } catch { /* this browser stores nothing */ }
}

function readKey() {
  try {
    find('key').value = localStorage.getItem('key') ?? '';
  } catch { /* likewise */ }
  find('keep').checked = Boolean(find('key').value);
}

/** Ask what the server offers; then translate the text that was written meanwhile, or kept by the browser. */
async function begin() {
  if (isBeginning) return;
  isBeginning = true;
  try {
    const [found, table] = await Promise.all([ask('frontend/settings'), ask('languages')]);
    languages = new Languages(table, found.language, translate);
    settings = found;
    introduce();
    changed();
  } catch (error) {
    fail(error);
  }
  isBeginning = false;
}

function introduce() {
  find('key-row').hidden = !settings.keyRequired;
  if (settings.keyRequired) readKey();
  improvement.isOffered = settings.suggestions;
  if (settings.filesTranslation) {
    offerFiles(settings.supportedFilesFormat, fields, (text) => { state.textContent = text; }, (error) => fail(error, false));
  }
}

source.addEventListener('input', changed);
for (const id of ['key', 'keep']) find(id).addEventListener('change', keepKey);
find('key-row').addEventListener('submit', (event) => event.preventDefault());
find('key').addEventListener('change', translate);
find('again').addEventListener('click', translate);
find('swap').addEventListener('click', swap);
find('copy').addEventListener('click', copy);
find('clear').addEventListener('click', () => {
  source.value = '';
  changed();
  source.focus();
});
document.addEventListener('keydown', (event) => {
  const isNow = isPressed(event, 'enter', false);
  const isSwap = isPressed(event, 's', true);
  if (!isNow && !isSwap) return;
  event.preventDefault();
  if (isNow && event.target === find('suggestion')) find('better').requestSubmit();
  else if (isNow) translate();
  else if (!find('swap').disabled) swap();
});
if (IS_APPLE) for (const one of document.querySelectorAll('kbd')) if (one.textContent === 'Ctrl') one.textContent = '⌘';
begin();
