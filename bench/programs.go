package main

import (
	"github.com/hotshard/hotshard/bench/boards"
	"github.com/hotshard/hotshard/bench/decoding"
	"github.com/hotshard/hotshard/bench/detection"
	"github.com/hotshard/hotshard/bench/faults"
	"github.com/hotshard/hotshard/bench/foldcost"
	"github.com/hotshard/hotshard/bench/folds"
	"github.com/hotshard/hotshard/bench/freshness"
	"github.com/hotshard/hotshard/bench/live"
	"github.com/hotshard/hotshard/bench/patterns"
	"github.com/hotshard/hotshard/bench/ranks"
	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/bench/sampling"
	"github.com/hotshard/hotshard/bench/scatter"
	"github.com/hotshard/hotshard/bench/start"
	"github.com/hotshard/hotshard/bench/storm"
)

// programs are the experiments.
var programs = []rig.Program{
	boards.Folds,
	boards.Standings,
	decoding.Program,
	detection.Program,
	faults.Program,
	foldcost.Program,
	folds.Program,
	freshness.Program,
	live.Program,
	patterns.Program,
	ranks.Program,
	sampling.Program,
	scatter.Program,
	start.Program,
	storm.Program,
}
