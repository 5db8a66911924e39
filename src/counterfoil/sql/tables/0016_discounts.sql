-- A discount in several currencies, and a bound on what a percentage takes off. Both are minor units by currency, as in {"eur": 600}.

-- The amount off, or the price, in currencies besides `currency`.
ALTER TABLE counterfoil.code ADD COLUMN currencies jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT other_currencies_are_of_an_amount CHECK (percent IS NULL OR currencies = '{}')
    CONSTRAINT a_currency_is_given_once CHECK (currency IS NULL OR NOT jsonb_exists(currencies, currency))
    CONSTRAINT each_currency_has_a_whole_amount CHECK (
        jsonb_typeof(currencies) = 'object'
        AND NOT jsonb_path_exists(currencies, 'strict $.keyvalue() ? (!(@.key like_regex "^[a-z]{3}$"))')
        AND NOT jsonb_path_exists(currencies, 'strict $.* ? (@.type() != "number" || @ != @.floor() || @ < 0)')
        AND (amount_off IS NULL OR NOT jsonb_path_exists(currencies, 'strict $.* ? (@ < 1)'))
    );

-- The most that a percentage takes off. Empty: it has no bound.
ALTER TABLE counterfoil.code ADD COLUMN at_most jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT only_a_percentage_is_bounded CHECK (percent IS NOT NULL OR at_most = '{}')
    CONSTRAINT each_bound_is_a_whole_amount CHECK (
        jsonb_typeof(at_most) = 'object'
        AND NOT jsonb_path_exists(at_most, 'strict $.keyvalue() ? (!(@.key like_regex "^[a-z]{3}$"))')
        AND NOT jsonb_path_exists(at_most, 'strict $.* ? (@.type() != "number" || @ != @.floor() || @ < 1)')
    );
