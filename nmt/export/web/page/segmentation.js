// Text to token ids and back, as SentencePiece does it (Kudo & Richardson 2018), by the JSON that vocabulary.py wrote.

const SPACE = '\u2581'; // stands for a space in pieces
const NORMAL = 1, USER_DEFINED = 4, UNUSED = 5, BYTE = 6; // types of pieces in sentencepiece_model.proto
const UNKNOWN_PENALTY = 10; // the score of an unknown character is this far below that of the least probable piece
const UNKNOWN_SURFACE = ' \u2047 ';

const toBytes = (text) => new TextEncoder().encode(text);
const toText = (bytes) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

/** Return the number of bytes of a character in UTF-8, from its first byte. */
const lengthOfCharacter = (byte) => (byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4);

/** Return the text of bytes that a model wrote; each byte that is no part of a character becomes U+FFFD. */
const spell = (bytes) => {
  let text = '';
  for (let i = 0; i < bytes.length; ) {
    const given = bytes.slice(i, i + lengthOfCharacter(bytes[i]));
    const character = toText(Uint8Array.from(given));
    const isWhole = String([...toBytes(character)]) === String(given);
    text += isWhole ? character : '\ufffd';
    i += isWhole ? given.length : 1;
  }
  return text;
};

/** The replacements of normalisation: a double-array trie of what is replaced, then the texts that replace it. */
class ReplacementTable {
  constructor(base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const size = view.getUint32(0, true);
    this.units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.texts = bytes.subarray(4 + size);
  }

  /** Return the length of the longest replaced beginning of `bytes` from `start` on, and its replacement, or null. */
  find(bytes, start) {
    const jump = (unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    let longest = null, place = jump(this.units[0]);
    for (let i = start; i < bytes.length; i++) {
      place ^= bytes[i];
      const unit = this.units[place];
      if ((unit & 0x800000ff) >>> 0 !== bytes[i]) break;
      place ^= jump(unit);
      if (unit & 0x100) longest = { length: i + 1 - start, first: this.units[place] & 0x7fffffff };
    }
    if (longest === null) return null;
    const end = this.texts.indexOf(0, longest.first);
    return { length: longest.length, text: toText(this.texts.subarray(longest.first, end)) };
  }
}

/** A vocabulary: `encode` returns token ids without EOS, `decode` a line of text. */
export class Vocabulary {
  constructor(content) {
    Object.assign(this, content); // kind, pieces, scores, types, ids of special tokens, the normalizer
    this.table = content.characters ? new ReplacementTable(content.characters) : null;
    this.ids = new Map();
    this.bytes = new Map();
    this.symbols = [];
    let least = Infinity, most = -Infinity;
    this.types.forEach((type, id) => {
      const piece = this.pieces[id];
      if (type === NORMAL || type === USER_DEFINED) this.ids.set(piece, id);
      if (type === USER_DEFINED) this.symbols.push(piece);
      if (type === BYTE) this.bytes.set(parseInt(piece.slice(3, 5), 16), id);
      if (type === NORMAL) [least, most] = [Math.min(least, this.scores[id]), Math.max(most, this.scores[id])];
    });
    this.symbols.sort((one, other) => other.length - one.length);
    this.unknownScore = Math.fround(Math.fround(least) - UNKNOWN_PENALTY);
    this.bestScore = most;
    this.longest = Math.max(...[...this.ids.keys()].map((piece) => [...piece].length));
  }

  encode(text) {
    const normal = this.normalize(text);
    if (!normal) return [];
    const parts = { unigram: () => this.mostProbable(normal), word: () => normal.split(new RegExp(`(?=${SPACE})`)) };
    return this.toIds((parts[this.kind] ?? (() => this.merge(normal)))());
  }

  /** Return the normalised text, which is what is segmented. */
  normalize(text) {
    if (!text) return ''; // an empty text gets no prefix
    const bytes = toBytes(text);
    let normal = this.adds_prefix ? SPACE : '';
    let isAfterSpace = this.removes_spaces;
    for (let i = 0; i < bytes.length; ) {
      let [part, length] = this.replaceBeginning(bytes, i);
      while (isAfterSpace && part.startsWith(' ')) part = part.slice(1);
      if (part) {
        normal += part.replaceAll(' ', SPACE);
        isAfterSpace = this.removes_spaces && part.endsWith(' ');
      }
      i += length;
    }
    while (this.removes_spaces && normal.endsWith(SPACE)) normal = normal.slice(0, -1);
    return normal;
  }

  replaceBeginning(bytes, start) {
    const symbol = this.symbols.find((one) => toBytes(one).every((byte, i) => byte === bytes[start + i]));
    if (symbol) return [symbol, toBytes(symbol).length];
    const found = this.table?.find(bytes, start);
    if (found) return [found.text, found.length];
    const length = lengthOfCharacter(bytes[start]);
    return [toText(bytes.subarray(start, start + length)), length];
  }

  /** Segment as a unigram model: into the pieces whose probabilities have the largest product (Viterbi). */
  mostProbable(text) {
    const characters = [...text];
    const ends = Array.from({ length: characters.length + 1 }, () => ({ start: -1, score: 0 }));
    for (let start = 0; start < characters.length; start++) {
      const scoreSoFar = ends[start].score;
      const offer = (end, score) => {
        const sum = score + scoreSoFar;
        if (ends[end].start < 0 || sum > ends[end].score) ends[end] = { start, score: Math.fround(sum) };
      };
      let piece = '', isKnown = false;
      for (let end = start + 1; end <= Math.min(characters.length, start + this.longest); end++) {
        piece += characters[end - 1];
        const id = this.ids.get(piece);
        if (id === undefined) continue;
        const isSymbol = this.types[id] === USER_DEFINED;
        offer(end, isSymbol ? toBytes(piece).length * this.bestScore - 0.1 : this.scores[id]);
        isKnown ||= end === start + 1;
      }
      if (!isKnown) offer(start + 1, this.unknownScore);
    }
    const parts = [];
    for (let end = characters.length; end > 0; end = ends[end].start)
      parts.unshift(characters.slice(ends[end].start, end).join(''));
    return parts;
  }

  /** Segment as BPE: merge neighbours that form a piece, the highest score first, of equal ones the leftmost. */
  merge(text) {
    const parts = [];
    for (let rest = text; rest; ) {
      const symbol = this.symbols.find((one) => rest.startsWith(one));
      parts.push({ text: symbol ?? String.fromCodePoint(rest.codePointAt(0)), isWhole: symbol !== undefined });
      rest = rest.slice(parts.at(-1).text.length);
    }
    const scoreOfPair = (i) => {
      const [left, right] = [parts[i], parts[i + 1]];
      if (!left || !right || left.isWhole || right.isWhole) return -Infinity;
      const id = this.ids.get(left.text + right.text);
      return id === undefined ? -Infinity : this.scores[id];
    };
    const scores = parts.map((_, i) => scoreOfPair(i));
    for (;;) {
      let best = 0;
      for (let i = 1; i < scores.length; i++) if (scores[i] > scores[best]) best = i;
      if (!(scores[best] > -Infinity)) return parts.map((part) => part.text);
      parts.splice(best, 2, { text: parts[best].text + parts[best + 1].text, isWhole: false });
      scores.splice(best + 1, 1);
      scores[best] = scoreOfPair(best);
      if (best > 0) scores[best - 1] = scoreOfPair(best - 1);
    }
  }

  /** Return the token ids of parts. Unknown parts become bytes; without byte pieces, those in a row become one UNK. */
  toIds(parts) {
    const ids = [];
    for (const part of parts) {
      const id = this.ids.get(part);
      if (id !== undefined) ids.push(id);
      else if (this.has_bytes) ids.push(...[...toBytes(part)].map((byte) => this.bytes.get(byte)));
      else if (ids.at(-1) !== this.unk_id) ids.push(this.unk_id);
    }
    return ids;
  }

  decode(ids) {
    let text = '', bytes = [], isFirst = true;
    for (const id of ids) {
      if (id === this.pad_id || id === this.bos_id || id === this.eos_id) continue;
      if (this.types[id] === BYTE) {
        bytes.push(parseInt(this.pieces[id].slice(3, 5), 16));
        continue;
      }
      if (bytes.length) [text, bytes, isFirst] = [text + spell(bytes), [], false];
      if (id === this.unk_id) [text, isFirst] = [text + UNKNOWN_SURFACE, false];
      if (![NORMAL, USER_DEFINED, UNUSED].includes(this.types[id])) continue;
      let piece = this.pieces[id];
      const isAtStart = this.removes_spaces ? !text : this.adds_prefix && isFirst;
      if (isAtStart && piece.startsWith(SPACE)) piece = piece.slice(1);
      isFirst = false;
      text += piece.replaceAll(SPACE, ' ');
    }
    return (text + spell(bytes)).replaceAll('\r\n', ' ').replaceAll('\n', ' ');
  }
}
