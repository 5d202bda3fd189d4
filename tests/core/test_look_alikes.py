"""Names of tools that could be taken for one another, and names that could not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.state.look_alikes import LookAlikes, skeleton

ALIKE = {
    "upper case": ("read_file", "READ_FILE"),
    "one upper letter": ("read_file", "read_File"),
    "camel case": ("read_file", "readFile"),
    "other separator": ("read_file", "read-file"),
    "no separator": ("read_file", "readfile"),
    "space": ("read_file", "read file "),
    "Cyrillic e": ("read_file", "r\u0435ad_file"),
    "Cyrillic, upper case": ("ACCEPT", "\u0410\u0421CEPT"),
    "Greek omicron": ("forget_note", "f\u03bfrget_note"),
    "Armenian": ("search", "se\u0430r\u0441\u04bb"),
    "full width": ("read_file", "\uff52ead_file"),
    "mathematical bold": ("read_file", "\U0001d42bead_file"),
    "small capital": ("read_file", "\u0280ead_file"),
    "circled": ("a1", "\u24d01"),
    "zero-width space": ("read_file", "read\u200b_file"),
    "zero-width joiner": ("read_file", "re\u200dad_file"),
    "soft hyphen": ("read_file", "read\u00ad_file"),
    "direction": ("read_file", "\u202eread_file"),
    "tag letters": ("read_file", "read_file\U000e0061"),
    "variation selector": ("read_file", "read\ufe0f_file"),
    "accent": ("read_file", "r\u00e9ad_file"),
    "accent apart": ("read_file", "re\u0301ad_file"),
    "dotless": ("list_files", "l\u0131st_files"),
    "dotted capital": ("istanbul", "\u0130stanbul"),
    "one for l": ("delete_all", "de1ete_all"),
    "l for i": ("write_file", "wrlte_file"),
    "zero for o": ("echo", "ech0"),
    "rn for m": ("get-sum", "get-surn"),
    "vv for w": ("write", "vvrite"),
    "swapped letters": ("read_file", "raed_file"),
    "doubled letter": ("read_file", "reead_file"),
    "letter missing": ("write_file", "writ_file"),
    "letter too much": ("search_all", "seaerch_all"),
    "other letter": ("search", "seerch"),
    "plural misspelt": ("list_issues", "list_isues"),
}


def found(known: str, asked: str) -> list[str]:
    names = LookAlikes()
    names.add(known)
    return list(names.find(asked))


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_names_that_could_be_taken_for_one_another(one: str, other: str) -> None:
    assert found(one, other) == [one]
    assert found(other, one) == [other]


APART = {
    "same": ("read_file", "read_file"),
    "other word": ("read_file", "write_file"),
    "word of one edit": ("get_tags", "get_tabs"),
    "first letter": ("get_config", "set_config"),
    "short words": ("get_node", "get_note"),
    "plural": ("read_note", "read_notes"),
    "past": ("create", "created"),
    "agent": ("file", "filer"),
    "number": ("step_1", "step_2"),
    "version": ("query_v1", "query_v2"),
    "longer number": ("page1", "page11"),
    "letters": ("a", "b"),
    "two edits": ("search", "saerchh"),
    "two words": ("search_issue", "saerch_isue"),
    "lock": ("lock", "block"),
    "pull": ("pull", "push"),
    "other writing": ("\u6771\u4eac", "\u5927\u962a"),
    "signs": ("-", "_"),
}


@pytest.mark.parametrize(("one", "other"), APART.values(), ids=APART)
def test_names_of_their_own(one: str, other: str) -> None:
    assert found(one, other) == []
    assert found(other, one) == []


REAL = """
    read_file read_text_file read_media_file read_multiple_files write_file
    edit_file create_directory list_directory list_directory_with_sizes
    directory_tree move_file search_files get_file_info list_allowed_directories
    create_entities create_relations add_observations delete_entities
    delete_observations delete_relations read_graph search_nodes open_nodes echo
    get-sum get-env get-tiny-image add_issue_comment create_branch create_issue
    create_pull_request create_repository fork_repository get_file_contents
    get_issue get_pull_request get_pull_request_comments list_branches
    get_pull_request_files get_pull_request_reviews get_pull_request_status
    list_commits list_issues list_pull_requests merge_pull_request push_files
    search_code search_users search_issues search_repositories update_issue
    update_pull_request_branch get_me git_status git_diff git_diff_staged
    git_diff_unstaged git_commit git_add git_reset git_log git_create_branch
    git_checkout git_show git_branch get_current_time fetch convert_time
    browser_navigate browser_click browser_close browser_resize browser_tabs
    browser_type browser_hover browser_drag browser_press_key browser_snapshot query
    puppeteer_click puppeteer_fill puppeteer_select puppeteer_hover
    slack_list_channels slack_post_message slack_reply_to_thread slack_add_reaction
    slack_get_users slack_get_user_profile list_tables describe_table read_query
    write_query create_table append_insight maps_geocode maps_reverse_geocode
    maps_search_places
"""


def test_the_names_of_well_known_servers_raise_no_alarm() -> None:
    known, names = LookAlikes(), REAL.split()
    for name in names:
        known.add(name)

    assert [(each, like) for each in names for like in known.find(each)] == []


@given(st.text(min_size=1, max_size=60))
def test_a_name_is_not_like_itself_and_is_found_by_its_skeleton(name: str) -> None:
    assert found(name, name) == []
    assert skeleton(name) == skeleton(name)


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_being_alike_is_mutual_and_what_is_alike_is_found(one: str, other: str) -> None:
    assert bool(found(one, other)) == bool(found(other, one))
    if skeleton(one) == skeleton(other) and one != other:
        assert found(one, other) == [one]
