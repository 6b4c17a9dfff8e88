// Command pairs compares what a decision costs in two builds: scripts/bench-pairs builds it in an earlier commit
// and in the working tree, and lets them take turns.
//
// A row is measured in a process of its own, once by each build: that is a pair. The figure of a pair is the CPU
// time of a decision in the earlier build, divided by that in this one. There are at least 20 pairs, and more, up
// to 60, until the middle half of the figures is within 4 %, or all of it is on one side of 0.97. A row whose figures
// scatter more after that is undecided: it has not passed. Time on a clock would say little, because other programs take part of it.
//
//	main.go     the flags, and the table
//	pair.go     a row in pairs, and the verdict on its figures
//	rows.go     the measured decisions, by functions that both builds have
//	measure.go  a row in a process of its own
package main
