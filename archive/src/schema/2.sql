-- What follows from the machine's id, whatever the host is called; NULL if the run does not say it. It is no part of machine,
-- because a run without it belongs to the host of its name.
ALTER TABLE run ADD COLUMN machine_id TEXT;
