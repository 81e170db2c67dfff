-- Frames that no trace came with a name for, for `ebreport export --to clickhouse --from-sql`
-- where the files are, or a debuginfod server can be asked. file: a path, as LIKE takes it.
SELECT build_id, object, offset
FROM frame FINAL
WHERE NOT named AND build_id != '' AND offset > 0 AND object LIKE {file:String}
ORDER BY build_id, object, offset
FORMAT TSV
