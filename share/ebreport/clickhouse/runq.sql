-- Hosts where threads wait longest for a CPU: the worst 99th percentile first. from, to; n: how many.
SELECT host, sum(waits) AS waits, round(sum(ns) / 1e6, 3) AS total_ms,
	round(quantilesTDigestMerge(0.5, 0.99)(quantiles)[2] / 1e6, 3) AS p99_ms,
	round(max(longest) / 1e6, 3) AS longest_ms
FROM runq_minute FINAL
WHERE minute >= {from:DateTime} AND minute < {to:DateTime}
GROUP BY host
ORDER BY p99_ms DESC, host
LIMIT {n:UInt32}
FORMAT TSVWithNames
