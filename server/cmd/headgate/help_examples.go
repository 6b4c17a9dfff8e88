package main

// helpExamples holds the examples in each command's help. A test parses the flags and arguments of each example.
var helpExamples = map[string]string{
	"serve": `  headgate serve                                      # in memory: RESP on 6380, HTTP on 8080
  headgate serve --config policies.yaml --admin 127.0.0.1:6070
  headgate serve --config policies.yaml --store redis://10.0.0.5:6379`,
	"gateway": `  headgate gateway --config policies.yaml --upstream http://127.0.0.1:9000`,
	"allow": `  headgate allow api ann
  headgate allow api ann -n 5 --server 10.0.0.5:6380
  headgate allow api ann --output json`,
	"peek": `  headgate peek api ann`,
	"top": `  headgate top --by denials --window 1h
  headgate top --policy api -n 5`,
	"limited":     `  headgate limited --policy api`,
	"key":         `  headgate key explain ann`,
	"key explain": `  headgate key explain ann --policy api`,
	"key give":    `  headgate key give api ann -n 5 --reason 'charged twice'`,
	"key reset":   `  headgate key reset api ann`,
	"policy": `  headgate policy list
  headgate policy try api '100/s burst 200'`,
	"policy list":    `  headgate policy list --output json`,
	"policy show":    `  headgate policy show api`,
	"policy try":     `  headgate policy try api '100/s burst 200'`,
	"policy set":     `  headgate policy set api '{"rate": "100/s"}' --for 1h --reason 'launch'`,
	"policy clear":   `  headgate policy clear api`,
	"override":       `  headgate override set api ann unlimited --for 1h`,
	"override list":  `  headgate override list`,
	"override try":   `  headgate override try api ann '1000/s burst 1000'`,
	"override set":   `  headgate override set api ann deny --reason 'scraper' --for 1d`,
	"override clear": `  headgate override clear api ann`,
	"shadow":         `  headgate shadow diff api`,
	"shadow diff":    `  headgate shadow diff api`,
	"config":         `  headgate config --admin 10.0.0.5:6070`,
	"reload":         `  headgate reload`,
	"health": `  headgate health
  headgate health --ready --http 10.0.0.5:8080`,
	"store":             `  headgate store accept-loss --store redis://10.0.0.5:6379`,
	"store accept-loss": `  headgate store accept-loss --store redis://10.0.0.5:6379`,
	"check": `  headgate check policies.yaml
  headgate check --output json policies.yaml`,
	"test": `  headgate test policies_test.yaml
  headgate test --output json a_test.yaml b_test.yaml`,
	"explain": `  headgate explain policies.yaml --request 'POST /v1/items' --header 'X-API-Key: acme'
  headgate explain policies.yaml --request https://api.example.com/v1/items --client 203.0.113.7`,
	"replay": `  headgate replay --suggest --key client_ip access.log
  headgate replay --config policies.yaml access.log.1.gz access.log
  headgate replay --compare old.yaml new.yaml access.log`,
	"bench": `  headgate bench --rate 20000 --duration 30s
  headgate bench --target redis://10.0.0.5:6379 --output json`,
	"verify":  `  headgate verify storetest/vectors/all.json`,
	"version": `  headgate version --output json`,

	"completion":            `  headgate completion bash`,
	"completion bash":       `  headgate completion bash > /etc/bash_completion.d/headgate`,
	"completion fish":       `  headgate completion fish > ~/.config/fish/completions/headgate.fish`,
	"completion powershell": `  headgate completion powershell > headgate.ps1`,
	"completion zsh":        `  headgate completion zsh > "${fpath[1]}/_headgate"`,
}
