-- Which programs wait for locks, on how many hosts. from, to; n: how many.
SELECT kind, comm, uniqExact(host) AS hosts, sum(waits) AS waits, round(sum(ns) / 1e6, 3) AS total_ms,
	round(max(longest) / 1e6, 3) AS longest_ms
FROM lock_minute FINAL
WHERE minute >= {from:DateTime} AND minute < {to:DateTime}
GROUP BY kind, comm
ORDER BY total_ms DESC, kind, comm
LIMIT {n:UInt32}
FORMAT TSVWithNames
