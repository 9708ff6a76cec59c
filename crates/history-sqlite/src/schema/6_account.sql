-- What was spent, by day ("2026-01-02", in UTC) and model.
CREATE TABLE spent (
    n INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL REFERENCES tenant (n) ON DELETE CASCADE,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    micros_without INTEGER NOT NULL,
    sum INTEGER,
    UNIQUE (tenant, day, model)
) STRICT;
