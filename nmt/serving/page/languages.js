// The two languages that are chosen, of those of the server; the address of the page remembers them.

const AUTO = 'auto';
const find = (id) => document.getElementById(id);

/** The two choices; `changed` is called when the person makes another. */
export class Languages {
  constructor(table, first, changed) {
    this.table = table;
    this.sides = [find('source-language'), find('target-language')];
    this.detected = null;
    const sources = table.filter((one) => this.targets(one.code).length);
    const options = sources.map((one) => new Option(one.name, one.code));
    this.detects = first.source.code === AUTO && sources.length > 1;
    if (this.detects) options.unshift(new Option('Detect language', AUTO));
    this.sides[0].replaceChildren(...options);
    this.sides[0].value = this.detects ? AUTO : (sources.find((one) => one.code === first.source.code) ?? sources[0]).code;
    this.fillTargets(first.target.code);
    this.readAddress();
    for (const side of this.sides) {
      side.disabled = false;
      side.addEventListener('change', () => {
        this.fillTargets(this.target);
        this.writeAddress();
        changed();
      });
    }
    addEventListener('hashchange', () => this.readAddress() && changed());
  }

  get source() {
    return this.sides[0].value;
  }

  get target() {
    return this.sides[1].value;
  }

  /** The language of the text: the detected one, if the person left that to the server. */
  get spoken() {
    return this.source === AUTO ? this.detected : this.source;
  }

  /** Return the codes of the languages that a language, or with `auto` any, can be translated to. */
  targets(code) {
    if (code === AUTO) return [...new Set(this.table.flatMap((one) => this.targets(one.code)))];
    return (this.table.find((one) => one.code === code)?.targets ?? []).filter((other) => other !== code);
  }

  name(code) {
    return this.table.find((one) => one.code === code)?.name ?? code;
  }

  fillTargets(wanted) {
    const codes = this.targets(this.source);
    this.sides[1].replaceChildren(...codes.map((code) => new Option(this.name(code), code)));
    this.sides[1].value = codes.includes(wanted) ? wanted : codes[0];
    this.found(null);
  }

  /** Note the language that the server detected in the text, as in its answer; null: none. */
  found(detected) {
    this.detected = detected?.language ?? null;
    if (this.detects) {
      const [option] = this.sides[0].options;
      option.textContent = detected?.confidence > 0 ? `${this.name(this.detected)} (detected)` : 'Detect language';
    }
    find('swap').disabled = !this.targets(this.target).includes(this.spoken);
  }

  swap() {
    const [source, target] = [this.target, this.spoken];
    this.sides[0].value = source;
    this.fillTargets(target);
    this.writeAddress();
  }

  writeAddress() {
    history.replaceState(null, '', `#${this.source}/${this.target}`);
  }

  /** Choose the languages that the address names, if the server translates between them; return whether it does. */
  readAddress() {
    const [source, target] = location.hash.slice(1).split('/');
    if (![...this.sides[0].options].some((one) => one.value === source)) return false;
    if (!this.targets(source).includes(target)) return false;
    this.sides[0].value = source;
    this.fillTargets(target);
    return true;
  }
}
