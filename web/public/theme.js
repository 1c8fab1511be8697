// Before the first paint, so that the page never flashes in the wrong colours. A file, because the page allows no inline script.
(function () {
  try {
    var theme = localStorage.getItem("windlass.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (_) {
    // Without storage the system's choice holds.
  }
})();
