// Package respapi implements the RESP commands that make decisions: CL.THROTTLE, the commands that its users apply to
// its keys, such as DEL and TTL, and the HEADGATE.* commands for policies.
//
//	                    CL.THROTTLE laoqian:reply 15 30 60 1
//	                                      │        │  │  │ └ quantity, by default 1
//	            key ──────────────────────┘        │  └──┴── 30 units per 60 seconds
//	            burst beyond the first unit ───────┘
//
//	reply: denied (0 or 1), capacity (16), remaining, seconds until a retry passes
//	(-1 if allowed, and if it can never pass), seconds until the bucket is full
//
// The commands for policies are in commands.go, CL.THROTTLE in throttle.go, those for its keys in keys.go, and the replies
// in replies.go.
package respapi
