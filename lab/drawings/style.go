package drawings

// style is the style sheet for drawings and for the page that contains them: the colours in light and dark mode, and
// the styles of shapes. Denied and passed parts differ in brightness, so that they can be distinguished in a greyscale
// print.
const style = `:root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1f2528;--soft:#5d676d;--rule:#e3e4df;--passed:#7fa6c9;--denied:#c2502a;--good:#2f7d5b;--mark:#f2efe6}
@media (prefers-color-scheme:dark){:root{--page:#15181b;--card:#1c2024;--ink:#e4e6e6;--soft:#9aa4aa;--rule:#2c3237;--passed:#4d7396;--denied:#ef8155;--good:#66bb93;--mark:#262b2f}}
svg text{fill:var(--soft);font-size:12px}svg .end{text-anchor:end}svg .middle{text-anchor:middle}
svg .grid{stroke:var(--rule);stroke-width:1}svg .passed{fill:var(--passed)}svg .denied{fill:var(--denied)}
svg .cell{fill:var(--mark)}svg .missing{fill:none;stroke:var(--rule);stroke-dasharray:2 3}svg .hot{fill:var(--passed)}svg .hot:hover,svg .passed:hover,svg .denied:hover{filter:brightness(1.15)}
`
