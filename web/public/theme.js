// Before the first paint, so that a dark page never flashes white. A file of its own because the
// policy of the page allows no script inside it.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem('ade.theme');
  } catch {
    // A browser that keeps nothing gets what the system prefers.
  }
  var dark = matchMedia('(prefers-color-scheme: dark)').matches;
  var theme = chosen === 'light' || chosen === 'dark' ? chosen : dark ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme;
})();
