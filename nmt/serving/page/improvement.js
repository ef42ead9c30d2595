// A better translation that the person writes, for who trains the model.

import { ask } from './server.js';

const find = (id) => document.getElementById(id);

export class Improvement {
  /** `fields` are those of every request; `say` and `fail` are told what came of it. */
  constructor(fields, say, fail) {
    this.isOffered = false;
    this.shown = ''; // of the field for a better translation, before a person wrote in it
    find('improve').addEventListener('click', () => this.open());
    find('cancel').addEventListener('click', () => this.close());
    find('better').addEventListener('submit', async (event) => {
      event.preventDefault();
      const suggestion = find('suggestion').value.trim();
      if (!suggestion) return;
      find('mistake').hidden = true;
      try {
        await ask('suggest', { ...fields(), ...this.improved, s: suggestion });
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

  /** There is another translation to be improved on, and what it was asked by, `q` among it, or nothing. */
  show(asked, translation) {
    Object.assign(this, { asked, translation });
    if (find('suggestion').value === this.shown) find('better').hidden = true; // else a person has written in it
    find('improve').hidden = !(this.isOffered && asked.q);
  }

  open() {
    this.improved = this.asked; // while a person writes, another text may be translated
    this.shown = find('suggestion').value = this.translation;
    find('better').hidden = false;
    find('suggestion').focus();
  }

  close() {
    this.shown = find('suggestion').value;
    find('better').hidden = true;
    find('improve').focus();
  }
}
