// Translates a file as a whole; the server keeps the translation for a while at an address of its own.

import { ask } from './server.js';

const find = (id) => document.getElementById(id);

/** Show the button. `fields` returns the fields of every request; `say` shows progress, `fail` an error. */
export function offerFiles(formats, fields, say, fail) {
  const input = find('file');
  input.accept = formats.join(',');
  find('file-button').hidden = false;
  find('file-button').title = formats.join(' ');
  input.addEventListener('change', async () => {
    const [file] = input.files;
    if (!file) return;
    const form = new FormData();
    for (const [name, value] of Object.entries(fields())) form.append(name, value);
    form.append('file', file);
    say(`Translating ${file.name} …`);
    find('mistake').hidden = true;
    try {
      const { translatedFileUrl } = await ask('translate_file', form);
      const link = document.createElement('a');
      // Relative to the page's own address: behind a proxy, the server may name another one.
      link.href = `download_file/${new URL(translatedFileUrl, location).pathname.split('/').pop()}`;
      link.download = '';
      link.textContent = `Save the translation of ${file.name}`;
      say('');
      find('saved').append(link);
    } catch (error) {
      fail(error);
    }
    input.value = '';
  });
}
