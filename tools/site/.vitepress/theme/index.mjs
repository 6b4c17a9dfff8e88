// VitePress's theme with the system's fonts, and the menu of versions in its bar.
import Theme from "vitepress/theme-without-fonts";
import { h } from "vue";
import "./style.css";
import Versions from "./Versions.vue";

export default {
  extends: Theme,
  Layout: () => h(Theme.Layout, null, { "nav-bar-content-before": () => h(Versions) }),
};
