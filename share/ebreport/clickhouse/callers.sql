-- Who calls this function, and for how much CPU time of it. from, to; function; n: how many.
WITH
	{function:String} AS wanted,
	weights AS
	(
		SELECT stack, sum(ns) AS weight
		FROM cpu_minute FINAL
		WHERE minute >= {from:DateTime} AND minute < {to:DateTime} AND stack IN
		(
			SELECT stack FROM stack
			WHERE hasAny(frames, (SELECT groupArray(frame) FROM frame WHERE has(functions, wanted)))
		)
		GROUP BY stack
	)
SELECT names[indexOf(names, replaceAll(wanted, ';', ':')) - 1] AS caller,
	round(sum(weight) / 1e6, 3) AS ms, count() AS stacks
FROM weights
INNER JOIN (SELECT stack, names FROM stack_names WHERE stack IN (SELECT stack FROM weights)) AS n USING stack
WHERE has(names, replaceAll(wanted, ';', ':'))
GROUP BY caller
ORDER BY ms DESC, caller
LIMIT {n:UInt32}
FORMAT TSVWithNames
