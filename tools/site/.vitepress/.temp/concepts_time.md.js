import { _ as _export_sfc, s as ssrRenderAttrs_1, a as ssrRenderAttr_1, r as runtimeDom_cjs_prod } from "./plugin-vue_export-helper.BmMjnq_N.js";
import "node:stream";
const _imports_0 = "/docs/v0.9.0/assets/time.CSL-Tizi.svg";
const __pageData = JSON.parse('{"title":"Time","description":"","frontmatter":{},"headers":[],"relativePath":"concepts/time.md","filePath":"concepts/time.md"}');
const _sfc_main = { name: "concepts/time.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs_1(_attrs)}><h1 id="time" tabindex="-1">Time <a class="header-anchor" href="#time" aria-label="Permalink to &quot;Time&quot;">​</a></h1><p>All decisions use the store&#39;s clock. In memory this is the clock of the process, and on Redis it is the clock of the Redis server. A wrong clock on a client, or on a Headgate server that uses Redis, does not affect decisions.</p><p><img${ssrRenderAttr_1("src", _imports_0)} alt="Where windows begin, and a clock that is set back"></p><p>In the drawing, each limit is 60 requests a minute. All limits get the same requests: two a second, starting at the 20th second.</p><ul><li><strong>A window needs a start.</strong> A fixed window starts either with the first request for its key, or with a minute of the clock. If it starts with the first request, the resets of many keys are spread over time. If it starts with a minute of the clock, customers can easily tell when the limit resets. Days and months can begin at midnight in a time zone, even where daylight saving time changes their length: <code>align: Asia/Shanghai</code>.</li><li><strong>A log and a bucket have no start.</strong> The log looks back one minute from each request, and the bucket refills continuously.</li><li><strong>A clock can be set back.</strong> In the last row, the store&#39;s clock is set back by 5 s. The bucket keeps the latest time that it has seen, so it does not refill for 5 s, and afterwards admits no additional units. If the step back is longer than the window or the bucket&#39;s full refill, all spent units count as if they had just been spent, so no caller has to wait until the clock reaches the old time.</li></ul><h2 id="what-answers-say" tabindex="-1">What answers say <a class="header-anchor" href="#what-answers-say" aria-label="Permalink to &quot;What answers say&quot;">​</a></h2><ul><li><code>retry_after</code> is the time until the same request passes if no other request comes first. A retry after exactly this time passes, because the time is always rounded up.</li><li><code>reset_after</code> is the time until the limit is full again.</li><li>A pacer also returns a <code>delay</code>: how long the caller must wait for its slot.</li><li>Times are durations, not timestamps, so a client&#39;s clock need not agree with the server&#39;s.</li></ul><p>Units and times are integers: whole units and whole microseconds. Over time, a rate of 3 a second admits exactly 3 a second.</p><p><a href="./../reference/changing-limits.html#when-the-clock-is-set-back">changing-limits.md</a> has the details, and <a href="./../design/rules.html">rules.md</a> has the rules on time.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = runtimeDom_cjs_prod.useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("concepts/time.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const time = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  time as default
};
