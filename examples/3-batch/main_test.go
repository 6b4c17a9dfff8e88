package main

func Example() {
	main()
	// Output:
	// alice: allowed=true remaining=5
	// alice: allowed=true remaining=4
	// bob: allowed=true remaining=5
	// take alice 3: allowed=true remaining=1
	// take alice 2: allowed=false remaining=1
	// take bob 1: allowed=true remaining=4
	// peek carol 1: allowed=true remaining=6
	// take alice 1: allowed=true remaining=0
}
