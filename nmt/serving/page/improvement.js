// A better translation that the person writes, for those who train the model.

import { ask } from './server.js';

const find = (id) => document.getElementById(id);

export class Improvement {
  /** `fields` returns the fields of every request; `say` shows that it was kept, `fail` an error. */
  constructor(fields, say, fail) {
    this.isOffered = false;
    this.shown = ''; // content of the suggestion field before the person changes it
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

  /** Take the translation now shown; `asked` has its text `q` and its languages, or nothing. */
  show(asked, translation) {
    Object.assign(this, { asked, translation });
    if (find('suggestion').value === this.shown) find('better').hidden = true; // else the person has changed it
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
