// Written by TestPageKnowsAllKinds from internal/base/schema. Don't edit.

/** kinds has, for each kind of base key, how its partition keys begin and the index that has its write shards. */
export const kinds: Record<string, { prefix: string; index: string }> = {
  counter: { prefix: "C#", index: "" },
  entity: { prefix: "E#", index: "" },
  board: { prefix: "L#", index: "by_rank" },
  sessions: { prefix: "S#", index: "by_group" },
  limit: { prefix: "R#", index: "" },
};
