// contrasts runs in the page: it returns the texts with less than 4.5:1 between them and
// their ground (WCAG 2.2, 1.4.3).
export function contrasts() {
  const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
  const over = ([r, g, b, a = 1], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255]);
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
    const style = getComputedStyle(e);
    if (!own || !e.checkVisibility() || style.clipPath !== "none" || e.closest(":disabled, .announcer, .skip")) continue;
    const ground = groundOf(e);
    const [light, dark] = [luminance(over(parse(e.closest("svg") ? style.fill : style.color), ground)), luminance(ground)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) poor.push(e.textContent.slice(0, 40) + " " + ratio.toFixed(2));
  }
  return [...new Set(poor)];
}
