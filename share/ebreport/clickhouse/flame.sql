-- Fleet flame graph of a service or a build: CPU time by stack, for `ebreport flame --from-sql`.
-- from, to; comm: a name, as LIKE takes it; build: a build-id that the stacks have, '' any.
WITH
	{build:String} AS build,
	weights AS
	(
		SELECT stack, sum(ns) AS weight
		FROM cpu_minute FINAL
		WHERE minute >= {from:DateTime} AND minute < {to:DateTime} AND comm LIKE {comm:String}
			AND (build = '' OR stack IN
			(
				SELECT stack FROM stack
				WHERE hasAny(frames, (SELECT groupArray(frame) FROM frame WHERE build_id = build))
			))
		GROUP BY stack
	)
SELECT arrayStringConcat(names, ';') AS folded, sum(weight) AS ns
FROM weights
INNER JOIN (SELECT stack, names FROM stack_names WHERE stack IN (SELECT stack FROM weights)) AS n USING stack
GROUP BY folded
ORDER BY folded
FORMAT TSV
