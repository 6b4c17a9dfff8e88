// Command pairs compares the cost of a decision in two builds. tools/scripts/bench-pairs builds it from an earlier commit
// and from the working tree, and alternates between them.
//
// A pair consists of one measurement of a row by each build, in separate processes. The pair's figure is the CPU time
// per decision in the earlier build, divided by the CPU time in this build. There are 20 to 60 pairs. Measuring stops
// when the middle half of the figures is within 4 %, or entirely on one side of 0.97. If a row's figures still scatter
// more after 60 pairs, the row is undecided and has not passed. Pairs compare CPU time, because wall-clock time
// includes other programs.
//
//	main.go     the flags, and the table
//	pair.go     a row in pairs, and the verdict on its figures
//	rows.go     the measured decisions, which use functions that both builds have
//	measure.go  measures a row in a separate process
package main
