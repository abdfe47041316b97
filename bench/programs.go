package main

import (
	"github.com/hotshard/hotshard/bench/decoding"
	"github.com/hotshard/hotshard/bench/folds"
	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/bench/storm"
)

// programs are the experiments.
var programs = []rig.Program{
	decoding.Program,
	folds.Program,
	storm.Program,
}
