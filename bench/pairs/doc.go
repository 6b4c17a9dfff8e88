// Command pairs compares the cost of a decision in two builds. scripts/bench-pairs builds it from an earlier commit
// and from the working tree, and alternates between them.
//
// A pair is one measurement of a row by each build, each in a separate process. The figure of a pair is the CPU time
// per decision in the earlier build divided by that in this build. There are at least 20 pairs, and up to 60, until
// the middle half of the figures is within 4 %, or entirely on one side of 0.97. A row whose figures still scatter
// more after that is undecided, and has not passed. CPU time is used because wall-clock time includes other programs.
//
//	main.go     the flags, and the table
//	pair.go     a row in pairs, and the verdict on its figures
//	rows.go     the measured decisions, using functions that both builds have
//	measure.go  a row in a process of its own
package main
