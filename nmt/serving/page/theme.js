// Dark or light, before anything is drawn: as the device has it, unless the person chose.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const read = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // this browser stores nothing
    }
  };
  const chosen = read();
  if (chosen) root.dataset.theme = chosen;
  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches);
    const say = () => button.setAttribute('aria-pressed', isDark());
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      try {
        localStorage.setItem('theme', root.dataset.theme);
      } catch { /* then the choice is for this visit alone */ }
      say();
    });
    dark.addEventListener('change', say);
    say();
  });
})();
