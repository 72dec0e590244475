// Making elements, writing numbers, reading colours. No text ever becomes markup.
const data = JSON.parse(document.getElementById("data").textContent);
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes, parent, text) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function shape(name, attributes, parent, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

// as the tables write them
function show(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (Math.abs(x) >= 1000) return Math.round(x).toLocaleString("en-GB");
  return String(Number(x.toPrecision(4)));
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const onTheme = []; // what must be drawn again when the theme changes
