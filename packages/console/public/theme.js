// Runs before the first paint, so that a chosen theme does not flash. No inline script: the policy forbids those.
try {
  const theme = localStorage.getItem("sluice.theme")
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; then the system's theme holds.
}
