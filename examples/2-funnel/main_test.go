package main

func Example() {
	main()
	// Output:
	// funnel of 15: 15 of 20 pass
	// CL.THROTTLE 15 30 60: 16 of 20 pass, come back in 2s
	// after sleeping: allowed=true
	// rescheduled in 2s
	// rescheduled: allowed=true
}
