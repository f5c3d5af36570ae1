// Runs before the first paint, so that a dark page never flashes white. A separate file, because
// the Content Security Policy forbids inline scripts.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem('ade.theme');
  } catch {
    // Without storage the system preference applies.
  }
  var dark = matchMedia('(prefers-color-scheme: dark)').matches;
  var theme = chosen === 'light' || chosen === 'dark' ? chosen : dark ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme;
})();
