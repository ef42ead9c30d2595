// A better translation that the person writes, for who trains the model.

import { ask } from './server.js';

const find = (id) => document.getElementById(id);

export class Improvement {
  /** `fields` are those of every request; `say` and `fail` are told what came of it. */
  constructor(fields, say, fail) {
    this.isOffered = false;
    find('improve').addEventListener('click', () => this.open());
    find('cancel').addEventListener('click', () => this.close());
    find('better').addEventListener('submit', async (event) => {
      event.preventDefault();
      const suggestion = find('suggestion').value.trim();
      if (!suggestion) return;
      find('mistake').hidden = true;
      try {
        await ask('suggest', { q: this.text, s: suggestion, ...fields() });
        this.close();
        say('Thank you: it was kept.');
      } catch (error) {
        fail(error);
      }
    });
    find('better').addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
  }

  /** There is another text, or none, to be improved on. */
  show(text, translation) {
    Object.assign(this, { text, translation });
    find('better').hidden = true;
    find('improve').hidden = !(this.isOffered && text);
  }

  open() {
    find('suggestion').value = this.translation;
    find('better').hidden = false;
    find('suggestion').focus();
  }

  close() {
    find('better').hidden = true;
    find('improve').focus();
  }
}
