//go:build race

package costtest

const raceDetector = true
