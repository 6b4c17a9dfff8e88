package main

func Example() {
	main()
	// Output:
	// request 0: passes, 17 tokens left
	// request 1: passes, 14 tokens left
	// request 2: passes, 11 tokens left
	// request 3: passes, 8 tokens left
	// request 4: passes, 5 tokens left
	// request 5: passes, 2 tokens left
	// request 6: refused, passes in 100ms
	// request 7: passes, 0 tokens left
	// request 8: refused, passes in 300ms
}
