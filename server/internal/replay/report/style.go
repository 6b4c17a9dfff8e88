package report

const pageStyle = `*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1040px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;font-weight:650;letter-spacing:-.01em}h2{font-size:18px;margin:40px 0 12px;font-weight:620}
p{margin:6px 0}.soft,caption{color:var(--soft)}.notes{margin:10px 0 0;padding:0;list-style:none;color:var(--soft);font-size:14px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:24px 0 8px}
.card,.box{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:14px 16px}
.card b{display:block;font-size:24px;font-weight:620;font-variant-numeric:tabular-nums;line-height:1.25}.card span{display:block;color:var(--soft);font-size:13px;line-height:1.4}
.card.bad b{color:var(--denied)}.card.good b{color:var(--good)}
.box{margin:12px 0;padding:18px 20px}.limit{font-size:22px;font-weight:620;margin:0 0 2px}.box ul{margin:10px 0 0;padding-left:20px}.box li{margin:4px 0}
svg{display:block;width:100%;height:auto}.figure{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:12px 14px 6px;overflow-x:auto}.figure svg{min-width:560px}
.key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin:0 6px 0 14px}.key i.passed{background:var(--passed)}.key i.denied{background:var(--denied)}.key{font-size:13px;color:var(--soft);margin:6px 0 0 -14px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px}th{font-weight:560;color:var(--soft);text-align:left;border-bottom:1px solid var(--rule);vertical-align:bottom}
td,th{padding:7px 12px 7px 0}td{vertical-align:top}td{border-bottom:1px solid var(--rule)}tr:last-child td{border-bottom:0}.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}
tr.chosen td{background:var(--mark)}tr.chosen td:first-child,tr.chosen th:first-child{font-weight:620}td:first-child,th:first-child{padding-left:8px}.box td{white-space:nowrap}.box h2{font-size:15px;margin:22px 0 8px}.box+.box{margin-top:16px}
code,pre{font:13px/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;overflow-wrap:anywhere}pre{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:14px 16px;overflow-x:auto;white-space:pre-wrap}
.bar{display:inline-block;height:8px;border-radius:2px;background:var(--denied);vertical-align:middle;margin-right:8px}
footer{margin-top:48px;color:var(--soft);font-size:13px}
@media print{.wide,.figure{overflow:visible}.figure svg{min-width:0}:root{--page:#fff;--card:#fff;--ink:#000;--soft:#444;--rule:#ccc;--passed:#9db9d2;--denied:#b0401c;--mark:#f3f3f3}main{padding:0;max-width:none}body{font-size:11pt}.box,.figure,tr,.card{break-inside:avoid}h2{break-after:avoid}svg *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
@media (max-width:640px){main{padding:24px 14px 48px}}
`
