-- The slowest disks: the worst 99th percentile first. from, to; n: how many.
SELECT host, concat(toString(disk_major), ':', toString(disk_minor)) AS disk, op, sum(requests) AS requests,
	sum(bytes) AS bytes, round(quantilesTDigestMerge(0.5, 0.99)(quantiles)[2] / 1e6, 3) AS p99_ms,
	round(max(longest) / 1e6, 3) AS longest_ms
FROM disk_minute FINAL
WHERE minute >= {from:DateTime} AND minute < {to:DateTime}
GROUP BY host, disk, op
ORDER BY p99_ms DESC, host, disk, op
LIMIT {n:UInt32}
FORMAT TSVWithNames
