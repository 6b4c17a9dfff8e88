// Package respapi answers the RESP commands that ask for decisions: CL.THROTTLE
// and what its users do to its keys, and Headgate's own by policy.
//
//	                    CL.THROTTLE laoqian:reply 15 30 60 1
//	                                      │        │  │  │ └ quantity, by default 1
//	            key ──────────────────────┘        │  └──┴── 30 units per 60 seconds
//	            burst beyond the first unit ───────┘
//
//	reply: refused (0 or 1), capacity (16), remaining, seconds until a retry
//	passes (−1 when allowed or never), seconds until the bucket is full
package respapi
