// Linked words of both sides: the pointer or the cursor on one marks the others.

const LESS = 0.75; // below it the model is less sure
const LEAST = 0.45; // below it a word may well be wrong

/** Write a text into an element, each word in a span of its own; return the spans. */
function write(element, text, words) {
  const spans = [];
  const parts = [];
  let end = 0;
  for (const word of words) {
    const start = text.indexOf(word, end);
    if (start < 0) break; // not the words of this text
    parts.push(text.slice(end, start));
    const span = document.createElement('span');
    span.textContent = word;
    spans.push(span);
    parts.push(span);
    end = start + word.length;
  }
  element.replaceChildren(...parts, text.slice(end));
  return spans;
}

/** The words of a text and of its translation. `describe` gets a line about the marked word, "" without one. */
export class Words {
  constructor(source, mirror, target, describe) {
    Object.assign(this, { source, mirror, target, describe });
    this.clear();
    source.addEventListener('pointermove', (event) => this.markAt(event, 'source'));
    target.addEventListener('pointermove', (event) => this.markAt(event, 'target'));
    target.addEventListener('click', (event) => this.markAt(event, 'target'));
    for (const one of [source, target]) {
      one.addEventListener('pointerleave', () => this.unmark());
      one.addEventListener('blur', () => this.unmark());
    }
    document.addEventListener('selectionchange', () => this.markCaret());
    target.addEventListener('keydown', (event) => this.step(event));
  }

  /** Forget the words; the text stays as it is. */
  clear() {
    this.words = { source: [], target: [] };
    this.links = [];
    this.attention = [];
    this.confidences = [];
    this.marked = null;
  }

  /** Show a translation with the server's details of its words; return whether these have confidences. */
  show(text, translation, details) {
    this.clear();
    this.unmark();
    this.text = text;
    this.words.source = write(this.mirror, text, details.source);
    this.mirror.append('\n'); // without it, an empty last line would have no height here
    this.words.target = write(this.target, translation, details.target);
    this.links = details.alignment;
    this.attention = details.attention;
    this.confidences = details.confidences;
    this.words.target.forEach((word, i) => {
      const sure = this.confidences[i];
      if (sure !== null && sure < LESS) word.className = sure < LEAST ? 'least' : 'less';
    });
    return this.confidences.some((sure) => sure !== null);
  }

  markAt(event, side) {
    if (event.pointerType === 'touch' && event.type === 'pointermove') return; // a finger that moves scrolls the page
    const under = document.elementsFromPoint(event.clientX, event.clientY);
    const number = this.words[side].findIndex((word) => under.includes(word));
    if (number < 0) this.unmark();
    else this.mark(side, number);
  }

  markCaret() {
    const { source } = this;
    if (document.activeElement !== source || source.value !== this.text) return;
    let end = 0;
    const number = this.words.source.findIndex((word) => {
      const start = this.text.indexOf(word.textContent, end);
      end = start + word.textContent.length;
      return start <= source.selectionStart && source.selectionStart <= end;
    });
    if (number >= 0 && source.selectionStart === source.selectionEnd) this.mark('source', number);
    else this.unmark();
  }

  step(event) {
    const words = this.words.target;
    const isLeft = event.key === 'ArrowLeft';
    if (!words.length || event.ctrlKey || event.metaKey || !['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) return;
    event.preventDefault();
    const isBackward = isLeft !== (getComputedStyle(this.target).direction === 'rtl');
    const now = this.marked?.side === 'target' ? this.marked.number : isBackward ? words.length : -1;
    const next = { Home: 0, End: words.length - 1 }[event.key] ?? now + (isBackward ? -1 : 1);
    this.mark('target', Math.min(Math.max(next, 0), words.length - 1));
    words[this.marked.number].scrollIntoView({ block: 'nearest' });
  }

  mark(side, number) {
    if (this.marked?.side === side && this.marked.number === number) return;
    this.unmark();
    this.marked = { side, number };
    const [own, other] = side === 'source' ? [0, 1] : [1, 0];
    const others = this.links.filter((link) => link[own] === number).map((link) => link[other]);
    const [these, those] = side === 'source' ? ['source', 'target'] : ['target', 'source'];
    const word = this.words[these][number];
    word.classList.add('marked');
    const linked = others.map((i) => this.words[those][i]).filter(Boolean);
    linked.forEach((one) => one.classList.add('linked'));
    // The more attention lies between two words, the stronger is the colour.
    for (const link of this.attention.filter((one) => one[own] === number)) {
      const one = this.words[those][link[other]];
      one?.classList.add('attended');
      one?.style.setProperty('--share', `${Math.round(100 * link[2])}%`);
    }
    const to = linked.map((one) => one.textContent).join(' … ');
    const sure = side === 'target' ? this.confidences[number] ?? null : null;
    this.describe([
      to ? `${word.textContent} ${side === 'source' ? '→' : '←'} ${to}` : word.textContent,
      sure === null ? '' : `${Math.round(100 * sure)} % sure`,
    ].filter(Boolean).join(' · '));
  }

  unmark() {
    if (!this.marked) return;
    for (const word of [...this.words.source, ...this.words.target]) word.classList.remove('marked', 'linked', 'attended');
    this.marked = null;
    this.describe('');
  }
}
