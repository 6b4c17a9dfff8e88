import { _ as _export_sfc, s as ssrRenderAttrs_1, r as runtimeDom_cjs_prod } from "./plugin-vue_export-helper.BmMjnq_N.js";
import "node:stream";
const __pageData = JSON.parse('{"title":"The house","description":"","frontmatter":{},"headers":[],"relativePath":"design/house.md","filePath":"design/house.md"}');
const _sfc_main = { name: "design/house.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs_1(_attrs)}><h1 id="the-house" tabindex="-1">The house <a class="header-anchor" href="#the-house" aria-label="Permalink to &quot;The house&quot;">​</a></h1><p>A room imports only the rooms that its arrows lead to, directly or through other rooms. No import goes up: a test compares this page with the imports. After changing the rooms, run <code>cd tools &amp;&amp; GOWORK=off go run ./house</code>. <a href="https://github.com/headgate/headgate/blob/v0.9.0/CONTRIBUTING.md#where-things-are" target="_blank" rel="noreferrer">CONTRIBUTING.md</a> says what is in each folder.</p><div class="language-mermaid vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">mermaid</span><pre class="shiki shiki-themes github-light github-dark vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">flowchart TD</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f0[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r0_0[&quot;&lt;b&gt;program&lt;/b&gt;&lt;br/&gt;flags, listeners, start and stop&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f1[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r1_0[&quot;&lt;b&gt;admin&lt;/b&gt;&lt;br/&gt;what operators call, metrics, traces&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r1_1[&quot;&lt;b&gt;trials&lt;/b&gt;&lt;br/&gt;headgate bench, headgate test&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f2[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r2_0[&quot;&lt;b&gt;front ends&lt;/b&gt;&lt;br/&gt;RESP, HTTP, gRPC, gateway&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f3[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r3_0[&quot;&lt;b&gt;service&lt;/b&gt;&lt;br/&gt;users, deadlines, signatures, observers&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r3_1[&quot;&lt;b&gt;envoy&lt;/b&gt;&lt;br/&gt;rules of envoyproxy/ratelimit&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r3_2[&quot;&lt;b&gt;changes&lt;/b&gt;&lt;br/&gt;policies in force, TLS files&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r3_3[&quot;&lt;b&gt;replay&lt;/b&gt;&lt;br/&gt;access logs → answers, limits, reports&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f4[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r4_0[&quot;&lt;b&gt;decide&lt;/b&gt;&lt;br/&gt;requests → operations → answers&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r4_1[&quot;&lt;b&gt;adapters&lt;/b&gt;&lt;br/&gt;gin, echo, fiber, connect, gRPC&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r4_2[&quot;&lt;b&gt;page&lt;/b&gt;&lt;br/&gt;the operators&#39; page, its calls and events&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f5[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r5_0[&quot;&lt;b&gt;policy&lt;/b&gt;&lt;br/&gt;files → limits, routes&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r5_1[&quot;&lt;b&gt;open&lt;/b&gt;&lt;br/&gt;a store by its URL&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f6[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r6_0[&quot;&lt;b&gt;httplimit&lt;/b&gt;&lt;br/&gt;middleware, headers, problems&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r6_1[&quot;&lt;b&gt;stack&lt;/b&gt;&lt;br/&gt;the layers in their order&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r6_2[&quot;&lt;b&gt;observers&lt;/b&gt;&lt;br/&gt;Prometheus, OpenTelemetry&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r6_3[&quot;&lt;b&gt;cases&lt;/b&gt;&lt;br/&gt;that every store passes, and for users&#39; tests&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r6_4[&quot;&lt;b&gt;snapshot&lt;/b&gt;&lt;br/&gt;memory in a file&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f7[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r7_0[&quot;&lt;b&gt;headgate&lt;/b&gt;&lt;br/&gt;Limiter, Policy, Semaphore, Decision&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r7_1[&quot;&lt;b&gt;layers&lt;/b&gt;&lt;br/&gt;batch, deny cache, leases, shares&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r7_2[&quot;&lt;b&gt;clients&lt;/b&gt;&lt;br/&gt;of Redis&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r7_3[&quot;&lt;b&gt;load&lt;/b&gt;&lt;br/&gt;calls in flight by latency&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f8[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r8_0[&quot;&lt;b&gt;memstore&lt;/b&gt;&lt;br/&gt;the store in memory&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r8_1[&quot;&lt;b&gt;redisstore&lt;/b&gt;&lt;br/&gt;the store on Redis, in Lua&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r8_2[&quot;&lt;b&gt;membership&lt;/b&gt;&lt;br/&gt;the processes on a store, lost data&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f9[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r9_0[&quot;&lt;b&gt;shared&lt;/b&gt;&lt;br/&gt;files, queues, bounds, formats&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f10[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r10_0[&quot;&lt;b&gt;engine&lt;/b&gt;&lt;br/&gt;the contract: Op, Outcome, Store, Limit&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  subgraph f11[&quot; &quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    direction LR</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">    r11_0[&quot;&lt;b&gt;algorithms&lt;/b&gt;&lt;br/&gt;pure steps on integers&quot;]</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  end</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r0_0 --&gt; r1_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r0_0 --&gt; r3_3</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r0_0 --&gt; r1_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_0 --&gt; r3_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_0 --&gt; r2_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_0 --&gt; r6_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_0 --&gt; r6_4</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_1 --&gt; r4_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r1_1 --&gt; r5_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r2_0 --&gt; r3_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r2_0 --&gt; r4_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r2_0 --&gt; r3_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r3_0 --&gt; r6_3</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r3_0 --&gt; r4_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r3_1 --&gt; r4_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r3_2 --&gt; r4_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r3_3 --&gt; r4_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r4_0 --&gt; r5_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r4_1 --&gt; r6_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r4_2 --&gt; r5_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r5_0 --&gt; r6_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r5_0 --&gt; r7_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r5_0 --&gt; r8_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r5_1 --&gt; r7_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r5_1 --&gt; r6_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_0 --&gt; r7_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_0 --&gt; r7_3</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_1 --&gt; r7_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_2 --&gt; r7_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_3 --&gt; r7_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_4 --&gt; r8_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r6_4 --&gt; r9_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_0 --&gt; r8_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_0 --&gt; r9_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_1 --&gt; r8_2</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_1 --&gt; r8_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_2 --&gt; r8_1</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r7_3 --&gt; r10_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r8_0 --&gt; r10_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r8_1 --&gt; r10_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r8_2 --&gt; r10_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r9_0 --&gt; r10_0</span></span>
<span class="line"><span style="--shiki-light:#24292E;--shiki-dark:#E1E4E8;">  r10_0 --&gt; r11_0</span></span></code></pre></div><table tabindex="0"><thead><tr><th>room</th><th>folders</th></tr></thead><tbody><tr><td>program</td><td><code>server/cmd/*</code>, <code>server/daemon</code></td></tr><tr><td>admin</td><td><code>server/internal/admin</code>, <code>server/internal/metrics</code>, <code>server/internal/tracing/*</code>, <code>server/internal/shadows</code>, <code>server/internal/topkeys</code>, <code>server/internal/audit</code></td></tr><tr><td>trials</td><td><code>server/internal/load</code>, <code>server/internal/policytest</code></td></tr><tr><td>front ends</td><td><code>server/internal/resp/*</code>, <code>server/internal/respapi</code>, <code>server/internal/httpapi/*</code>, <code>server/internal/grpcapi</code>, <code>server/internal/gateway</code>, <code>server/internal/problem</code></td></tr><tr><td>service</td><td><code>server/internal/service/*</code></td></tr><tr><td>envoy</td><td><code>server/internal/envoy</code></td></tr><tr><td>changes</td><td><code>server/internal/policies</code>, <code>server/internal/tlsfiles/*</code></td></tr><tr><td>replay</td><td><code>server/internal/replay/*</code></td></tr><tr><td>decide</td><td><code>policy/decide</code></td></tr><tr><td>adapters</td><td><code>adapter/gin</code>, <code>adapter/echo</code>, <code>adapter/fiber</code>, <code>adapter/connect</code>, <code>adapter/grpc</code></td></tr><tr><td>page</td><td><code>server/internal/page</code>, <code>server/internal/feed</code>, <code>server/internal/adminapi</code></td></tr><tr><td>policy</td><td><code>policy</code>, <code>policy/route</code>, <code>policy/keyhash</code>, <code>policy/internal/*</code></td></tr><tr><td>open</td><td><code>open</code></td></tr><tr><td>httplimit</td><td><code>httplimit</code>, <code>httpclient</code>, <code>adapter/rpc</code></td></tr><tr><td>stack</td><td><code>layer/stack</code></td></tr><tr><td>observers</td><td><code>adapter/prometheus</code>, <code>adapter/otel</code>, <code>adapter/outcomes</code></td></tr><tr><td>cases</td><td><code>storetest/*</code>, <code>headgatetest</code></td></tr><tr><td>snapshot</td><td><code>server/internal/snapshot</code></td></tr><tr><td>headgate</td><td><code>.</code>, <code>core</code>, <code>internal/inside</code></td></tr><tr><td>layers</td><td><code>layer/batch</code>, <code>layer/denycache</code>, <code>layer/fallback</code>, <code>layer/prefetch</code>, <code>layer/internal/*</code></td></tr><tr><td>clients</td><td><code>adapter/rueidis</code>, <code>adapter/goredis</code></td></tr><tr><td>load</td><td><code>adaptive</code></td></tr><tr><td>memstore</td><td><code>memstore</code></td></tr><tr><td>redisstore</td><td><code>redisstore/*</code></td></tr><tr><td>membership</td><td><code>layer/membership</code></td></tr><tr><td>shared</td><td><code>internal/*</code>, <code>policy/yamlfile</code>, <code>policy/jsontext</code>, <code>policy/files</code>, <code>server/internal/users</code>, <code>server/internal/peers</code>, <code>server/internal/respclient</code>, <code>server/internal/watch</code>, <code>server/internal/requestid</code>, <code>server/internal/lograte</code>, <code>server/internal/costtest</code></td></tr><tr><td>engine</td><td><code>engine</code></td></tr><tr><td>algorithms</td><td><code>engine/algo</code></td></tr></tbody></table></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = runtimeDom_cjs_prod.useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/house.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const house = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  house as default
};
