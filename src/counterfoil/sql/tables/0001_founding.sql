-- The nouns. Constraint names are true sentences: whoever breaks one reads what was true.
-- Keys of what decides about a code start with the code whose allocation counts, so that the rows can be
-- spread over servers by it.

CREATE TABLE counterfoil.institution (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text NOT NULL CONSTRAINT an_institution_has_its_own_slug UNIQUE,
    name        text NOT NULL,
    time_zone   text NOT NULL,
    year_start  text NOT NULL DEFAULT '09-01'
        CONSTRAINT a_year_starts_on_a_day_every_year_has CHECK (
            year_start ~ '^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$'
            AND year_start NOT IN ('02-29', '02-30', '02-31', '04-31', '06-31', '09-31', '11-31')
        ),
    created_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);

CREATE TABLE counterfoil.product (
    id          text PRIMARY KEY,
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    amount      bigint NOT NULL CONSTRAINT a_product_costs_nothing_or_more CHECK (amount >= 0),
    currency    text NOT NULL,
    unlocks     text[] NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT statement_timestamp()
);

CREATE TABLE counterfoil.code (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    institution_id  bigint NOT NULL REFERENCES counterfoil.institution (id),
    code            text NOT NULL,
    folded          text NOT NULL CONSTRAINT a_code_is_given_once UNIQUE,
    -- The cap of every period that has no allocation of its own yet. NULL is no cap; 0 admits nobody.
    cap             bigint CONSTRAINT a_cap_is_zero_or_more CHECK (cap BETWEEN 0 AND 1000000000),
    -- The code whose allocations this one counts against, if not its own: pools, and codes that replaced one.
    counts_with     bigint REFERENCES counterfoil.code (id)
        CONSTRAINT a_code_counts_with_another CHECK (counts_with <> id),
    percent         numeric(5, 2) CONSTRAINT a_percentage_is_over_0_to_100 CHECK (percent > 0 AND percent <= 100),
    amount_off      bigint CONSTRAINT an_amount_off_is_positive CHECK (amount_off > 0),
    price           bigint CONSTRAINT a_price_is_zero_or_more CHECK (price >= 0),
    currency        text,
    calendar        text NOT NULL DEFAULT 'academic_year'
        CONSTRAINT a_calendar_is_known CHECK (calendar IN ('academic_year', 'calendar_year', 'month', 'all')),
    per_buyer_limit integer DEFAULT 1 CONSTRAINT a_limit_lets_somebody_in CHECK (per_buyer_limit >= 1),
    starts_on       date,
    ends_on         date,
    products        text[],
    refund_policy   text NOT NULL DEFAULT 'keep'
        CONSTRAINT a_refund_policy_is_known CHECK (refund_policy IN ('keep', 'return', 'return_unless_disputed')),
    paused_at       timestamptz,
    -- Raised by every change, so that a price worked out from an older reading is noticed when the place is held.
    version         bigint NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    CONSTRAINT a_code_has_one_discount CHECK (num_nonnulls(percent, amount_off, price) = 1),
    CONSTRAINT an_amount_has_a_currency CHECK ((percent IS NULL) = (currency IS NOT NULL)),
    CONSTRAINT a_window_ends_after_it_starts CHECK (starts_on <= ends_on)
);

CREATE INDEX code_by_institution ON counterfoil.code (institution_id);
CREATE INDEX code_by_counts_with ON counterfoil.code (counts_with) WHERE counts_with IS NOT NULL;

-- The gate. `used` is exactly the number of redemptions that occupy a place: reserved (lapsed or not), pending,
-- completed. `excess` is how far honoured late payments, or a cap lowered on confirmation, took it over the cap.
CREATE TABLE counterfoil.allocation (
    code_id     bigint NOT NULL REFERENCES counterfoil.code (id),
    period      text NOT NULL,
    cap         bigint CONSTRAINT an_allocation_is_zero_or_more CHECK (cap BETWEEN 0 AND 1000000000),
    used        bigint NOT NULL DEFAULT 0 CONSTRAINT no_place_is_given_back_twice CHECK (used >= 0),
    excess      bigint NOT NULL DEFAULT 0 CONSTRAINT an_excess_is_zero_or_more CHECK (excess >= 0),
    note        text,
    created_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
    PRIMARY KEY (code_id, period),
    CONSTRAINT the_cap_holds CHECK (used <= cap + excess)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

CREATE TABLE counterfoil.redemption (
    id                  uuid NOT NULL,
    code_id             bigint NOT NULL REFERENCES counterfoil.code (id),
    -- The code whose allocation the place is of: code.counts_with, or the code itself.
    counts_with         bigint NOT NULL,
    period              text NOT NULL,
    status              text NOT NULL
        CONSTRAINT a_redemption_status_is_known
        CHECK (status IN ('reserved', 'pending', 'completed', 'released', 'refunded')),
    buyer               text NOT NULL,
    buyer_key           text NOT NULL,
    reserved_at         timestamptz NOT NULL,
    -- Until when the place is kept without further news: of a hold, its end; of a pending one, its deadline.
    expires_at          timestamptz NOT NULL,
    -- One attempt is one call to create a session; its number is in the idempotency key.
    attempt             integer NOT NULL DEFAULT 1 CONSTRAINT attempts_count_from_one CHECK (attempt >= 1),
    session_id          text,
    session_url         text,
    session_expires_at  timestamptz,
    former_sessions     text[] NOT NULL DEFAULT '{}',
    -- Why we are ending its session: written down before Stripe is asked, so that whoever hears of the end first,
    -- we or the webhook, gives the same reason.
    ending              text,
    completed_at        timestamptz,
    released_at         timestamptz,
    release_reason      text
        CONSTRAINT a_release_reason_is_known CHECK (release_reason IN (
            'creation_failed', 'session_expired', 'cancelled', 'payment_failed', 'superseded', 'by_hand', 'lapsed'
        )),
    refunded_at         timestamptz,
    over_cap            boolean NOT NULL DEFAULT false,
    PRIMARY KEY (counts_with, id),
    CONSTRAINT a_place_is_of_the_period_it_was_reserved_in
        FOREIGN KEY (counts_with, period) REFERENCES counterfoil.allocation (code_id, period),
    -- guard: the-column-compares
    CONSTRAINT session_dies_before_its_hold CHECK (session_expires_at < expires_at),
    CONSTRAINT a_session_has_an_end CHECK ((session_id IS NULL) = (session_expires_at IS NULL)),
    CONSTRAINT a_released_place_says_why CHECK (
        status <> 'released' OR (released_at IS NOT NULL AND release_reason IS NOT NULL)
    ),
    CONSTRAINT a_completed_one_says_when CHECK (
        status NOT IN ('completed', 'refunded') OR completed_at IS NOT NULL
    )
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX a_buyer_has_one_open_claim
    ON counterfoil.redemption (counts_with, period, buyer_key) WHERE status = 'reserved';
CREATE UNIQUE INDEX a_session_has_one_redemption
    ON counterfoil.redemption (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX redemption_live
    ON counterfoil.redemption (counts_with, period, expires_at) WHERE status = 'reserved';
CREATE INDEX redemption_pending
    ON counterfoil.redemption (counts_with, period, expires_at) WHERE status = 'pending';
CREATE INDEX redemption_by_buyer
    ON counterfoil.redemption (counts_with, period, buyer_key) WHERE status IN ('reserved', 'pending', 'completed');
CREATE INDEX redemption_by_id ON counterfoil.redemption (id);
CREATE INDEX redemption_newest ON counterfoil.redemption (reserved_at DESC, id DESC);
CREATE INDEX redemption_of_a_code ON counterfoil.redemption (code_id, reserved_at DESC, id DESC);
CREATE INDEX redemption_former_sessions
    ON counterfoil.redemption USING gin (former_sessions) WHERE former_sessions <> '{}';

CREATE TABLE counterfoil.checkout (
    id                  uuid NOT NULL,
    -- 0: no code was applied, and so there is no redemption.
    counts_with         bigint NOT NULL DEFAULT 0,
    redemption_id       uuid,
    product_id          text REFERENCES counterfoil.product (id),
    name                text NOT NULL,
    unlocks             text[] NOT NULL DEFAULT '{}',
    buyer               text NOT NULL,
    buyer_key           text NOT NULL,
    list_amount         bigint NOT NULL,
    discount_amount     bigint NOT NULL DEFAULT 0,
    amount              bigint NOT NULL,
    currency            text NOT NULL,
    status              text NOT NULL DEFAULT 'open'
        CONSTRAINT a_checkout_status_is_known
        CHECK (status IN ('open', 'pending', 'paid', 'expired', 'cancelled', 'failed', 'refunded')),
    success_url         text NOT NULL,
    cancel_url          text NOT NULL,
    metadata            jsonb NOT NULL DEFAULT '{}',
    -- The browser that began it, as a digest of its cookie: on pages nobody else is shown it.
    browser             text,
    session_id          text,
    session_url         text,
    session_expires_at  timestamptz,
    ending              text,
    payment_intent      text,
    livemode            boolean NOT NULL,
    created_at          timestamptz NOT NULL,
    paid_at             timestamptz,
    PRIMARY KEY (counts_with, id),
    FOREIGN KEY (counts_with, redemption_id) REFERENCES counterfoil.redemption (counts_with, id),
    CONSTRAINT a_code_means_a_redemption CHECK ((counts_with = 0) = (redemption_id IS NULL)),
    CONSTRAINT amounts_add_up CHECK (
        amount = list_amount - discount_amount AND discount_amount >= 0 AND amount >= 0
    ),
    CONSTRAINT a_paid_checkout_says_when CHECK (status NOT IN ('paid', 'refunded') OR paid_at IS NOT NULL)
) WITH (fillfactor = 80);

CREATE UNIQUE INDEX a_redemption_has_one_checkout
    ON counterfoil.checkout (counts_with, redemption_id) WHERE redemption_id IS NOT NULL;
CREATE UNIQUE INDEX a_session_has_one_checkout
    ON counterfoil.checkout (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX checkout_by_id ON counterfoil.checkout (id);
CREATE INDEX checkout_newest ON counterfoil.checkout (created_at DESC, id DESC);
CREATE INDEX checkout_by_buyer ON counterfoil.checkout (buyer_key, created_at DESC, id DESC);
CREATE INDEX checkout_by_browser ON counterfoil.checkout (browser, created_at DESC, id DESC) WHERE browser IS NOT NULL;
CREATE INDEX checkout_by_payment_intent ON counterfoil.checkout (payment_intent) WHERE payment_intent IS NOT NULL;

CREATE TABLE counterfoil.entitlement (
    counts_with bigint NOT NULL,
    checkout_id uuid NOT NULL,
    unlock      text NOT NULL,
    product_id  text REFERENCES counterfoil.product (id),
    buyer       text NOT NULL,
    buyer_key   text NOT NULL,
    granted_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    PRIMARY KEY (counts_with, checkout_id, unlock),
    FOREIGN KEY (counts_with, checkout_id) REFERENCES counterfoil.checkout (counts_with, id)
);

CREATE INDEX entitlement_by_buyer ON counterfoil.entitlement (buyer_key, granted_at DESC);

-- What Stripe told us. `settled_at` is empty until what it says is in the rows.
CREATE TABLE counterfoil.stripe_event (
    id          text PRIMARY KEY,
    type        text NOT NULL,
    object_id   text,
    livemode    boolean NOT NULL,
    received_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    settled_at  timestamptz,
    outcome     text
);

CREATE INDEX stripe_event_unsettled ON counterfoil.stripe_event (received_at) WHERE settled_at IS NULL;

-- What a person must look at. One entry for one matter, however often it is reported.
CREATE TABLE counterfoil.attention (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL,
    subject     text NOT NULL,
    detail      jsonb NOT NULL DEFAULT '{}',
    raised_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
    resolved_at timestamptz,
    CONSTRAINT a_matter_is_listed_once UNIQUE (kind, subject)
);
