package main

import (
	"github.com/hotshard/hotshard/bench/faults"
	"github.com/hotshard/hotshard/bench/patterns"
	"github.com/hotshard/hotshard/bench/ranks"
	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/bench/scatter"
	"github.com/hotshard/hotshard/bench/start"
)

// programs are the experiments.
var programs = []rig.Program{
	faults.Program,
	patterns.Program,
	ranks.Program,
	scatter.Program,
	start.Program,
}
