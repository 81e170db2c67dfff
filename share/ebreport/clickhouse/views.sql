-- Sums by the minute, kept when the rows are gone. A row is of a minute, a trace and a chunk: a
-- chunk comes as one block, which a view sees as a whole, and comes again as the same rows. So
-- what was uploaded twice counts once here, too: always read these with FINAL.

CREATE TABLE IF NOT EXISTS cpu_minute
(
	day Date,
	minute DateTime('UTC'),
	host LowCardinality(String),
	trace UUID,
	chunk UInt64,
	comm LowCardinality(String),
	stack UInt64,
	ns UInt64,
	samples UInt64
)
ENGINE = ReplacingMergeTree(samples)
PARTITION BY day
ORDER BY (comm, minute, stack, host, trace, chunk)
TTL day + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS cpu_minute_of_samples TO cpu_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, comm, stack,
	sum(ns) AS ns, count() AS samples
FROM sample
GROUP BY day, minute, host, trace, chunk, comm, stack;

-- Waits for a CPU, on run queues.
CREATE TABLE IF NOT EXISTS runq_minute
(
	day Date,
	minute DateTime('UTC'),
	host LowCardinality(String),
	trace UUID,
	chunk UInt64,
	comm LowCardinality(String),
	waits UInt64,
	ns UInt64,
	longest UInt64,
	quantiles AggregateFunction(quantilesTDigest(0.5, 0.99), UInt64)
)
ENGINE = ReplacingMergeTree(waits)
PARTITION BY day
ORDER BY (host, minute, comm, trace, chunk)
TTL day + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS runq_minute_of_offcpu TO runq_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, comm,
	count() AS waits, sum(queued) AS ns, max(queued) AS longest,
	quantilesTDigestState(0.5, 0.99)(queued) AS quantiles
FROM offcpu
WHERE queued > 0
GROUP BY day, minute, host, trace, chunk, comm;

-- Time off CPU by where it stopped.
CREATE TABLE IF NOT EXISTS offcpu_minute
(
	day Date,
	minute DateTime('UTC'),
	host LowCardinality(String),
	trace UUID,
	chunk UInt64,
	comm LowCardinality(String),
	why LowCardinality(String),
	stack UInt64,
	intervals UInt64,
	ns UInt64
)
ENGINE = ReplacingMergeTree(intervals)
PARTITION BY day
ORDER BY (comm, minute, why, stack, host, trace, chunk)
TTL day + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS offcpu_minute_of_offcpu TO offcpu_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, comm, why, stack,
	count() AS intervals, sum(duration) AS ns
FROM offcpu
GROUP BY day, minute, host, trace, chunk, comm, why, stack;

-- Waits for locks: of programs (futex) and of the kernel (kernel).
CREATE TABLE IF NOT EXISTS lock_minute
(
	day Date,
	minute DateTime('UTC'),
	host LowCardinality(String),
	trace UUID,
	chunk UInt64,
	kind LowCardinality(String),
	comm LowCardinality(String),
	stack UInt64,
	waits UInt64,
	ns UInt64,
	longest UInt64
)
ENGINE = ReplacingMergeTree(waits)
PARTITION BY day
ORDER BY (kind, comm, minute, stack, host, trace, chunk)
TTL day + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS lock_minute_of_futex TO lock_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, 'futex' AS kind, comm, stack,
	count() AS waits, sum(duration) AS ns, max(duration) AS longest
FROM futex_wait
GROUP BY day, minute, host, trace, chunk, comm, stack;

CREATE MATERIALIZED VIEW IF NOT EXISTS lock_minute_of_kernel TO lock_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, 'kernel' AS kind, comm, stack,
	count() AS waits, sum(duration) AS ns, max(duration) AS longest
FROM lock_wait
GROUP BY day, minute, host, trace, chunk, comm, stack;

-- Requests to disks. Without layers: what a layer passes on is a request of the disk below.
CREATE TABLE IF NOT EXISTS disk_minute
(
	day Date,
	minute DateTime('UTC'),
	host LowCardinality(String),
	trace UUID,
	chunk UInt64,
	disk_major UInt32,
	disk_minor UInt32,
	op LowCardinality(String),
	comm LowCardinality(String),
	requests UInt64,
	bytes UInt64,
	ns UInt64,
	longest UInt64,
	quantiles AggregateFunction(quantilesTDigest(0.5, 0.99), UInt64)
)
ENGINE = ReplacingMergeTree(requests)
PARTITION BY day
ORDER BY (host, minute, disk_major, disk_minor, op, comm, trace, chunk)
TTL day + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS disk_minute_of_block_io TO disk_minute AS
SELECT day, toStartOfMinute(time) AS minute, host, trace, chunk, disk_major, disk_minor, op, comm,
	count() AS requests, sum(bytes) AS bytes, sum(duration) AS ns, max(duration) AS longest,
	quantilesTDigestState(0.5, 0.99)(duration) AS quantiles
FROM block_io
WHERE layer = 'request' AND state != 'in flight'
GROUP BY day, minute, host, trace, chunk, disk_major, disk_minor, op, comm;

-- The functions of a stack, outermost first, those inlined too. Ask it for a few stacks:
-- WHERE stack IN (…).
CREATE VIEW IF NOT EXISTS stack_names AS
SELECT stack, arrayFlatten(arrayMap(f -> f.2, arraySort(f -> f.1, groupArray((place, functions))))) AS names
FROM
(
	SELECT stack, frame, place
	FROM (SELECT DISTINCT stack, frames FROM stack)
	ARRAY JOIN frames AS frame, arrayEnumerate(frames) AS place
) AS places
INNER JOIN
(
	SELECT frame, arrayMap(f -> replaceAll(f, ';', ':'), arrayReverse(functions)) AS functions
	FROM frame FINAL
) AS frames USING frame
GROUP BY stack;
