package main

func Example() {
	main()
	// Output:
	// sliding-log 5/1m: 5 of 20 pass
	// sliding-log 5/1m count_denied name "counting": 5 of 20 pass
	// sliding-log 5/1m: after 60 s allowed=true, retry after 0s
	// sliding-log 5/1m count_denied name "counting": after 60 s allowed=false, retry after 30s
}
