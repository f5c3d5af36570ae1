//! The functions and types of plain scripts, as words between spaces. A test compares the functions
//! with the volatility that PostgreSQL's catalogue gives them.

const AGGREGATES: &str = "\
    array_agg avg bit_and bit_or bool_and bool_or corr count covar_pop covar_samp cume_dist \
    dense_rank every first_value json_agg json_object_agg jsonb_agg jsonb_object_agg lag \
    last_value lead max min mode nth_value ntile percent_rank percentile_cont \
    percentile_disc range_agg rank row_number stddev stddev_pop stddev_samp string_agg sum \
    var_pop var_samp variance";

const TEXT: &str = "\
    ascii bit_length btrim char_length character_length chr concat concat_ws convert_from \
    convert_to decode encode format initcap is_normalized left length like_escape lower lpad \
    ltrim md5 normalize octet_length overlay position quote_ident quote_literal \
    quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches \
    regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace \
    reverse right rpad rtrim sha224 sha256 sha384 sha512 similar_to_escape split_part \
    starts_with string_to_array string_to_table strpos substr substring to_hex translate \
    upper";

const NUMBERS: &str = "\
    abs acos asin atan atan2 cbrt ceil ceiling cos degrees div exp factorial floor gcd \
    greatest lcm ln log log10 min_scale mod pi pow power radians round scale sign sin sqrt \
    tan trim_scale trunc width_bucket";

/// These do not read the clock.
const TIMES: &str = "\
    date_bin date_part date_trunc extract isfinite justify_days justify_hours \
    justify_interval make_date make_interval make_time make_timestamp make_timestamptz \
    overlaps timezone to_char to_date to_number to_timestamp";

const ARRAYS: &str = "\
    array_append array_cat array_dims array_fill array_length array_lower array_ndims \
    array_position array_positions array_prepend array_remove array_replace array_to_string \
    array_upper cardinality generate_series generate_subscripts isempty lower_inc lower_inf \
    trim_array unnest upper_inc upper_inf";

const JSON: &str = "\
    array_to_json json_array_elements json_array_elements_text json_array_length \
    json_build_array json_build_object json_each json_each_text json_extract_path \
    json_extract_path_text json_object json_object_keys json_strip_nulls json_typeof \
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array \
    jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text \
    jsonb_insert jsonb_object jsonb_object_keys jsonb_pretty jsonb_set jsonb_set_lax \
    jsonb_strip_nulls jsonb_typeof row_to_json to_json to_jsonb";

const SEARCH: &str = "\
    phraseto_tsquery plainto_tsquery setweight to_tsquery to_tsvector ts_rank \
    websearch_to_tsquery";

/// Returns whether the result depends on the arguments and on settings that a script cannot read,
/// and the function has no other effect.
pub(super) fn is_plain_function(name: &str) -> bool {
    let lists = [AGGREGATES, TEXT, NUMBERS, TIMES, ARRAYS, JSON, SEARCH];
    lists.into_iter().any(|list| contains(list, name))
}

const VALUES: &str =
    "clock_timestamp gen_random_uuid now random statement_timestamp transaction_timestamp";

/// Returns whether the result differs from one execution to the next. Such a function is plain
/// where its result is only stored.
pub(super) fn is_value_function(name: &str) -> bool {
    contains(VALUES, name)
}

const TYPES: &str = "\
    bit bool bpchar bytea char cidr float4 float8 inet int2 int4 int8 interval json jsonb \
    macaddr money name numeric text uuid varbit varchar";

/// Returns whether the input of the type depends on the text alone.
pub(super) fn is_plain_type(name: &str) -> bool {
    contains(TYPES, name)
}

const CLOCK_WORDS: &str = "now today tomorrow yesterday";

/// Returns whether dates and times accept the word in place of a value.
pub(super) fn is_clock_word(name: &str) -> bool {
    contains(CLOCK_WORDS, name)
}

fn contains(list: &str, name: &str) -> bool {
    list.split(' ').any(|listed| listed == name)
}
