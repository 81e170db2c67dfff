-- Two builds or two kernels: CPU time by stack before and after, each as a share of its own side in
-- millionths, for `ebreport flame --from-sql`. what: 'build' or 'kernel'; before, after: which;
-- from, to; comm as in flame.sql.
WITH
	{what:String} AS what,
	{before:String} AS old,
	{after:String} AS new,
	old_stacks AS
	(
		SELECT stack FROM stack
		WHERE hasAny(frames, (SELECT groupArray(frame) FROM frame WHERE build_id = old))
	),
	new_stacks AS
	(
		SELECT stack FROM stack
		WHERE hasAny(frames, (SELECT groupArray(frame) FROM frame WHERE build_id = new))
	),
	sides AS
	(
		SELECT stack,
			sumIf(ns, what = 'build' ? stack IN (old_stacks)
				: trace IN (SELECT trace FROM trace WHERE kernel = old)) AS was,
			sumIf(ns, what = 'build' ? stack IN (new_stacks)
				: trace IN (SELECT trace FROM trace WHERE kernel = new)) AS is
		FROM cpu_minute FINAL
		WHERE minute >= {from:DateTime} AND minute < {to:DateTime} AND comm LIKE {comm:String}
		GROUP BY stack
		HAVING was + is > 0
	),
	(SELECT (sum(was), sum(is)) FROM sides) AS totals
SELECT arrayStringConcat(names, ';') AS folded,
	toUInt64(round(1e6 * sum(was) / greatest(totals.1, 1))) AS before,
	toUInt64(round(1e6 * sum(is) / greatest(totals.2, 1))) AS after
FROM sides
INNER JOIN (SELECT stack, names FROM stack_names WHERE stack IN (SELECT stack FROM sides)) AS n USING stack
GROUP BY folded
HAVING before + after > 0
ORDER BY folded
FORMAT TSV
