// Waking the page: fold what can be folded, choose among figures, switch the theme.
function fold() {
  document.querySelectorAll("details").forEach((details) => { details.open = false; });
}

function navigation() {
  const nav = document.getElementById("nav");
  document.querySelectorAll("main > section").forEach((section) => {
    const short = section.dataset.short || section.id[0].toUpperCase() + section.id.slice(1);
    make("a", { href: `#${section.id}` }, nav, short);
  });
}

function choosers() {
  document.querySelectorAll(".gallery").forEach((gallery) => {
    const chooser = gallery.querySelector(".chooser");
    if (!chooser) return;
    const select = chooser.querySelector("select"), exhibits = gallery.querySelectorAll(".exhibit");
    const choose = () => exhibits.forEach((exhibit) => { exhibit.hidden = exhibit.id !== select.value; });
    chooser.hidden = false;
    select.addEventListener("change", choose);
    choose();
  });
}

function theme() {
  const button = document.getElementById("theme"), root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => {
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
    onTheme.forEach((draw) => draw());
  };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; say(); });
  system.addEventListener("change", say);
  say();
}

fold();
navigation();
choosers();
document.querySelectorAll("[data-chart]").forEach((place) => new Chart(place, data.charts[place.dataset.chart]));
if (data.films.length) new Player(document.getElementById("films"), data, grids);
if (data.matches) new Player(document.getElementById("matches"), data.matches, triangles);
theme();
